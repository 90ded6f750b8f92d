// Prints what the Kafka jars on the class path make of configuration values: one line a case, tab separated.
//
//   java -cp '<libs>/*' ConfigTexts.java
//   table  name  value given  "=" and the value as it is shown afterwards | "!" and the error text
//
// Of all keys with the same type and rule in ConfigTables.java's words, the first stands for the others. All are given
// the same values; backslash escapes keep a line a line. Used by configs_against_jar.py. Class names are left out:
// whether they load depends on the class path, not on the rule.

import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

public class ConfigTexts {
  static final String[] VALUES = {
      "", " ", "abc", " 12 ", "+7", "-131073", "-131072", "-3", "-2", "-1", "0", "00", "1", "2", "4", "5", "9", "10", "17",
      "18", "22", "23", "25", "26", "99", "100", "501", "1023", "10001", "1048575", "1048576", "2147483639", "2147483640",
      "2147483648", "9223372036854775807", "9223372036854775808", "32768", "0x10", "1.5", ".5", "1e3", "-0.1", "0.6",
      "1_000", "NaN", "Infinity", "1d", "0.00001", "12345678.5", "TRUE", " false ", "maybe", "a,b", "a , b", "a,,b", "a,a",
      ",", "a,", "compact, delete", "delete,delete", "gzip", "GZIP", "CreateTime", "none", "broker,controller",
      "PLAINTEXT", "classic,consumer", "*", "0:1", "0:1,1:2", "0:x", "0:1:2", "1@host:9093", "host:9092,[::1]:9092",
      "latest", "Earliest", "by_duration:PT1H", "by_duration:P1DT2.5S", "by_duration:x", "by_duration:-PT1H",
      "by_duration:P", "by_duration:PT0S", "read_committed", "upgrade", "es256", "\u00b2",
  };

  static String escape(String text) {
    StringBuilder out = new StringBuilder();
    for (char c : text.toCharArray()) {
      if (c == '\\') out.append("\\\\");
      else if (c == '\n') out.append("\\n");
      else if (c == '\t') out.append("\\t");
      else out.append(c);
    }
    return out.toString();
  }

  static final Set<String> seen = new HashSet<>();

  static String rule(ConfigDef.Validator validator) throws Exception {
    if (validator == null) return "-";
    if (!(validator instanceof ConfigDef.ValidList)) return validator.getClass().getName() + validator;
    Field empty = ConfigDef.ValidList.class.getDeclaredField("isEmptyAllowed");
    empty.setAccessible(true);
    return "list " + validator + empty.getBoolean(validator);
  }

  static void run(java.io.PrintStream out, String table, Map<String, ConfigDef.ConfigKey> keys) throws Exception {
    for (ConfigDef.ConfigKey key : new TreeMap<>(keys).values()) {
      if (key.type == ConfigDef.Type.CLASS || !seen.add(key.type + " " + rule(key.validator))) continue;
      for (String value : VALUES) {
        String answer;
        try {
          Object parsed = ConfigDef.parseType(key.name, value, key.type);
          if (key.validator != null) key.validator.ensureValid(key.name, parsed);
          answer = key.type == ConfigDef.Type.PASSWORD ? "=[hidden]" : "=" + ConfigDef.convertToString(parsed, key.type);
        } catch (ConfigException e) {
          answer = "!" + e.getMessage();
        }
        out.println(String.join("\t", table, key.name, escape(value), escape(answer)));
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    java.io.PrintStream out = new java.io.PrintStream(System.out, false, "UTF-8");
    run(out, "broker", org.apache.kafka.server.config.AbstractKafkaConfig.CONFIG_DEF.configKeys());
    run(out, "topic", org.apache.kafka.storage.internals.log.LogConfig.configKeys());
    run(out, "group", org.apache.kafka.coordinator.group.GroupConfig.CONFIG_DEF.configKeys());
    run(out, "client_metrics", org.apache.kafka.server.metrics.ClientMetricsConfigs.configDef().configKeys());
    out.flush();
  }
}
