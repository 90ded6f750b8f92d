// Runs Kafka's DumpLogSegments for many command lines in one process: a line of stdin each, words separated by 0x1f.
// Answers for each on stdout: exit code, length of what it printed on its stdout, of its stderr (a line), and both.
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.DumpLogSegments;

public class KafkaDumps {
    static class Exited extends RuntimeException {
        final int code;

        Exited(int code) {
            this.code = code;
        }
    }

    static int run(String[] words, PrintStream err) {
        try {
            DumpLogSegments.main(words);
            return 0;
        } catch (Exited exited) {
            return exited.code;
        } catch (Throwable failure) {
            StringWriter text = new StringWriter();
            failure.printStackTrace(new PrintWriter(text, true));
            err.print("Exception in thread \"main\" ");
            for (String line : text.toString().split("\n")) {
                if (!line.startsWith("\t")) {
                    err.println(line);
                }
            }
            return 1;
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Exited(code);
        });
        DataOutputStream answers = new DataOutputStream(System.out);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            PrintStream outStream = new PrintStream(out, false, StandardCharsets.UTF_8);
            PrintStream errStream = new PrintStream(err, false, StandardCharsets.UTF_8);
            System.setOut(outStream);
            System.setErr(errStream);
            int code = run(line.isEmpty() ? new String[0] : line.split("\u001f", -1), errStream);
            outStream.flush();
            errStream.flush();
            answers.writeBytes(code + " " + out.size() + " " + err.size() + "\n");
            answers.write(out.toByteArray());
            answers.write(err.toByteArray());
            answers.flush();
        }
    }
}
