// Runs the main classes of Kafka's tools in this one process, as if each had been started in a process of its own.
//
// One request a line on stdin, one answer a line on stdout, both JSON; answers come as they are ready and carry the request's id:
//   {"id": 1, "main": "org.apache.kafka.tools.TopicCommand", "args": [...], "stdin": BASE64, "seconds": 90}
//   {"id": 1, "code": 0, "out": BASE64, "err": BASE64, "left": ["main", ...]}
//                                                                code null: it was still running after `seconds`
//                                                                left: its threads that could not be ended
//   {"id": 2, "step": "topic", ...}                              steps on a cluster: ClusterSteps.java
//   {"id": 2, "done": true}  or  {"id": 2, "failure": "..."}
//
// Each run has a thread group of its own. System.in, out and err look up the group of the calling thread, so runs may overlap,
// and whatever threads of an ended run still say goes nowhere. Kafka's Exit and System.exit note the code and hold the thread.
// Threads that outlive their run are ended; those that cannot be are named in the answer, so that cli.py can replace the process
// before they take the machine from the tools that follow.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.common.utils.internals.Exit;
import org.slf4j.LoggerFactory;

public class ToolRunner {
    static final ObjectMapper JSON = new ObjectMapper();
    static final PrintStream REAL_OUT = System.out;
    static final PrintStream REAL_ERR = System.err;

    static final class Run extends ThreadGroup {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final InputStream in;
        final CompletableFuture<Integer> code = new CompletableFuture<>();
        final List<Runnable> hooks = new ArrayList<>();
        volatile boolean over = false;

        Run(byte[] stdin) {
            super("run");
            in = new ByteArrayInputStream(stdin);
        }

        synchronized void write(ByteArrayOutputStream to, byte[] bytes, int from, int length) {
            if (!over) to.write(bytes, from, length);
        }

        // What System.exit does, but for the end of the process: hooks, then nothing of this thread ever again. Once the run is
        // over the thread may unwind; code that catches everything and exits again gets the same answer.
        void exit(int status) {
            code.complete(status);
            while (!over) {
                try {
                    Thread.sleep(60_000);
                } catch (InterruptedException e) {
                    // either end() or a thread that had been interrupted before it came here
                }
            }
            throw new ThreadDeath();
        }

        void runHooks() throws InterruptedException {
            List<Thread> threads = new ArrayList<>();
            for (Runnable hook : hooks) threads.add(new Thread(this, hook));
            for (Thread thread : threads) thread.start();
            for (Thread thread : threads) thread.join(10_000);
        }

        List<Thread> alive() {
            Thread[] threads = new Thread[activeCount() + 64];
            int count = enumerate(threads, true);
            return new ArrayList<>(Arrays.asList(threads).subList(0, count));
        }

        // Gives the names of the threads that did not end within two seconds. Most do when they are interrupted; stop() is for the
        // others, and late, since a class whose initializer it cuts off is lost to all runs that follow. One stop() is not enough
        // for a thread that catches it.
        @SuppressWarnings("removal")
        List<String> end() throws InterruptedException {
            synchronized (this) {
                over = true;
            }
            long deadline = System.nanoTime() + 2_000_000_000L;
            for (Thread thread : alive()) thread.interrupt();
            long patience = System.nanoTime() + 300_000_000L;
            while (!alive().isEmpty() && System.nanoTime() < patience) Thread.sleep(5);
            for (List<Thread> left = alive(); !left.isEmpty() && System.nanoTime() < deadline; left = alive()) {
                for (Thread thread : left) thread.stop();
                left.get(0).join(50);
            }
            return alive().stream().map(Thread::getName).toList();
        }
    }

    // A client that was cut off leaves its beans registered, and the next one with the same client id would warn of them.
    static void forgetBeans() throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        for (ObjectName name : beans.queryNames(new ObjectName("kafka.*:*"), null)) beans.unregisterMBean(name);
    }

    static Run current() {
        for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
            if (group instanceof Run) return (Run) group;
        }
        return null;
    }

    // Writes to the stream of the run that the calling thread belongs to.
    static PrintStream routed(boolean isErr) {
        return new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int from, int length) {
                Run run = current();
                if (run != null) run.write(isErr ? run.err : run.out, bytes, from, length);
                else REAL_ERR.write(bytes, from, length);
            }
        }, true, StandardCharsets.UTF_8);
    }

    static final InputStream ROUTED_IN = new InputStream() {
        InputStream of() {
            Run run = current();
            return run == null ? InputStream.nullInputStream() : run.in;
        }

        @Override
        public int read() throws IOException {
            return of().read();
        }

        @Override
        public int read(byte[] into, int from, int length) throws IOException {
            return of().read(into, from, length);
        }

        @Override
        public int available() throws IOException {
            return of().available();
        }

        @Override
        public void close() {}  // a tool that closes its stdin must not close that of the next
    };

    @SuppressWarnings("removal")
    static void catchExits() {
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkPermission(Permission permission) {}

            @Override
            public void checkPermission(Permission permission, Object context) {}

            @Override
            public void checkExit(int status) {
                ToolRunner.exit(status);
            }
        });
        Exit.setExitProcedure((status, message) -> exit(status));
        Exit.setHaltProcedure((status, message) -> exit(status));
        Exit.setShutdownHookAdder((name, hook) -> {
            Run run = current();
            if (run == null) Runtime.getRuntime().addShutdownHook(new Thread(hook));
            else run.hooks.add(hook);
        });
    }

    static void exit(int status) {
        Run run = current();
        if (run == null) throw new IllegalStateException("exit " + status + " outside of a run");
        run.exit(status);
    }

    static void runMain(Run run, String mainClass, String[] args) {
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) args);
            // The process would live on until the last thread that is no daemon has ended.
            Thread[] threads = new Thread[run.activeCount() + 16];
            int count = run.enumerate(threads, true);
            for (int i = 0; i < count; i++) {
                if (threads[i] != Thread.currentThread() && !threads[i].isDaemon()) threads[i].join();
            }
            run.code.complete(0);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof ThreadDeath) return;
            System.err.print("Exception in thread \"main\" ");
            e.getCause().printStackTrace();
            run.code.complete(1);
        } catch (ReflectiveOperationException e) {
            run.code.completeExceptionally(e);
        } catch (InterruptedException e) {
            run.code.complete(1);
        }
    }

    static ObjectNode run(JsonNode request) throws Exception {
        byte[] stdin = request.has("stdin") ? Base64.getDecoder().decode(request.get("stdin").asText()) : new byte[0];
        Run run = new Run(stdin);
        List<String> args = new ArrayList<>();
        for (JsonNode arg : request.get("args")) args.add(arg.asText());
        String mainClass = request.get("main").asText();
        Thread main = new Thread(run, () -> runMain(run, mainClass, args.toArray(new String[0])), "main");
        main.start();
        ObjectNode answer = JSON.createObjectNode();
        try {
            int code = run.code.get(request.get("seconds").asLong(), TimeUnit.SECONDS);
            run.runHooks();
            answer.put("code", code);
        } catch (TimeoutException e) {
            run.runHooks();  // as after SIGTERM
            answer.putNull("code");
        }
        run.end().forEach(answer.putArray("left")::add);
        forgetBeans();
        answer.put("out", Base64.getEncoder().encodeToString(run.out.toByteArray()));
        answer.put("err", Base64.getEncoder().encodeToString(run.err.toByteArray()));
        return answer;
    }

    static void answer(JsonNode request) {
        ObjectNode answer;
        try {
            if (request.has("main")) {
                answer = run(request);
            } else {
                ClusterSteps.act(request);
                answer = JSON.createObjectNode().put("done", true);
            }
        } catch (Throwable e) {
            answer = JSON.createObjectNode().put("failure", String.valueOf(e));
        }
        answer.set("id", request.get("id"));
        synchronized (REAL_OUT) {
            REAL_OUT.println(answer);
            REAL_OUT.flush();
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        LoggerFactory.getLogger(ToolRunner.class);  // what it says at its start is no tool's
        new Throwable().printStackTrace(new PrintStream(OutputStream.nullOutputStream()));  // its classes are there, see end()
        System.setIn(ROUTED_IN);
        System.setOut(routed(false));
        System.setErr(routed(true));
        catchExits();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            new Thread(() -> answer(request)).start();
        }
        Runtime.getRuntime().halt(0);
    }
}
