// How the shipped tools log: WARN and above to stderr, "[time] LEVEL message (logger)". Stands in the class path before the
// binding among the jars, because slf4j takes the first.
package org.slf4j.impl;

import java.text.SimpleDateFormat;
import java.util.Date;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggerFactoryBinder;

public class StaticLoggerBinder implements LoggerFactoryBinder {
    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();
    public static String REQUESTED_API_VERSION = "1.6.99";

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return StderrLogger::new;
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return "StderrLogger";
    }

    private static final class StderrLogger extends MarkerIgnoringBase {
        // A run that was ended by force leaves its beans behind, which no process of its own would: this one says so.
        private static final String OF_ONE_PROCESS = "org.apache.kafka.common.utils.AppInfoParser";

        StderrLogger(String name) {
            this.name = name;
        }

        private void log(String level, FormattingTuple message) {
            if (name.equals(OF_ONE_PROCESS)) return;
            String time = new SimpleDateFormat("yyyy-MM-dd HH:mm:ss,SSS").format(new Date());
            synchronized (StderrLogger.class) {
                System.err.println("[" + time + "] " + level + " " + message.getMessage() + " (" + name + ")");
                if (message.getThrowable() != null) message.getThrowable().printStackTrace();
            }
        }

        @Override public boolean isTraceEnabled() { return false; }
        @Override public boolean isDebugEnabled() { return false; }
        @Override public boolean isInfoEnabled() { return false; }
        @Override public boolean isWarnEnabled() { return true; }
        @Override public boolean isErrorEnabled() { return true; }
        @Override public void trace(String text) {}
        @Override public void trace(String text, Object one) {}
        @Override public void trace(String text, Object one, Object two) {}
        @Override public void trace(String text, Object... all) {}
        @Override public void trace(String text, Throwable why) {}
        @Override public void debug(String text) {}
        @Override public void debug(String text, Object one) {}
        @Override public void debug(String text, Object one, Object two) {}
        @Override public void debug(String text, Object... all) {}
        @Override public void debug(String text, Throwable why) {}
        @Override public void info(String text) {}
        @Override public void info(String text, Object one) {}
        @Override public void info(String text, Object one, Object two) {}
        @Override public void info(String text, Object... all) {}
        @Override public void info(String text, Throwable why) {}
        @Override public void warn(String text) { log("WARN", new FormattingTuple(text, null, null)); }
        @Override public void warn(String text, Object one) { log("WARN", MessageFormatter.format(text, one)); }
        @Override public void warn(String text, Object one, Object two) { log("WARN", MessageFormatter.format(text, one, two)); }
        @Override public void warn(String text, Object... all) { log("WARN", MessageFormatter.arrayFormat(text, all)); }
        @Override public void warn(String text, Throwable why) { log("WARN", new FormattingTuple(text, null, why)); }
        @Override public void error(String text) { log("ERROR", new FormattingTuple(text, null, null)); }
        @Override public void error(String text, Object one) { log("ERROR", MessageFormatter.format(text, one)); }
        @Override public void error(String text, Object one, Object two) { log("ERROR", MessageFormatter.format(text, one, two)); }
        @Override public void error(String text, Object... all) { log("ERROR", MessageFormatter.arrayFormat(text, all)); }
        @Override public void error(String text, Throwable why) { log("ERROR", new FormattingTuple(text, null, why)); }
    }
}
