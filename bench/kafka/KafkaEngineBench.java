// Apache Kafka's own storage engine (UnifiedLog) under the same work as append_bench, lookup_bench, open_bench
// and recovery_bench.
//
//   KafkaEngineBench append <work folder> <batch file> <warm-up appends> <appends>
//   KafkaEngineBench lookup <log directory> <warm-up look-ups> <look-ups>
//   KafkaEngineBench open   <folder of log directories> <rounds>
//   KafkaEngineBench recover <log directory> <rounds>
//
// Prints one JSON object a line, with the keys of the C++ programs. A batch file is a sequence of batches of one size, as
// make_batches writes it; the log directories are ones that Cordwood wrote.
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.OffsetResultHolder;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class KafkaEngineBench {
    static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);
    static final BrokerTopicStats STATS = new BrokerTopicStats();
    static final LogDirFailureChannel FAILURES = new LogDirFailureChannel(10);

    static UnifiedLog open(File directory) throws Exception {
        return open(directory, true);
    }

    static UnifiedLog open(File directory, boolean lastShutdownClean) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("segment.bytes", 1 << 30);
        return UnifiedLog.create(directory, new LogConfig(settings), 0L, 0L, SCHEDULER, STATS, Time.SYSTEM, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, FAILURES, lastShutdownClean, Optional.empty());
    }

    static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime() / 1e9;
    }

    static void removeTree(File folder) {
        File[] entries = folder.listFiles();
        if (entries != null) for (File each : entries) removeTree(each);
        folder.delete();
    }

    static List<ByteBuffer> readBatches(String file) throws Exception {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
        List<ByteBuffer> batches = new ArrayList<>();
        while (all.remaining() >= 12) {
            int size = 12 + all.getInt(all.position() + 8);
            batches.add(all.slice(all.position(), size));
            all.position(all.position() + size);
        }
        return batches;
    }

    static long append(UnifiedLog log, List<ByteBuffer> batches, long count) throws Exception {
        long bytes = 0;
        for (long i = 0; i < count; ++i) {
            ByteBuffer batch = batches.get((int) (i % batches.size()));
            batch.putLong(0, 0L);  // the append before has put its offset here
            log.appendAsLeader(MemoryRecords.readableRecords(batch.duplicate()), 0);
            bytes += batch.limit();
        }
        return bytes;
    }

    static void benchAppend(String folder, String file, long warmUp, long count) throws Exception {
        List<ByteBuffer> batches = readBatches(file);
        File warm = new File(folder, "warm-0");
        File measured = new File(folder, "measured-0");
        removeTree(warm);
        removeTree(measured);
        warm.mkdirs();
        measured.mkdirs();
        UnifiedLog log = open(warm);
        append(log, batches, warmUp);
        log.close();
        removeTree(warm);
        log = open(measured);
        double cpu = cpuSeconds();
        long began = System.nanoTime();
        long bytes = append(log, batches, count);
        double wall = (System.nanoTime() - began) / 1e9;
        cpu = cpuSeconds() - cpu;
        if (log.logEndOffset() == 0) throw new IllegalStateException("nothing was appended");
        log.close();
        removeTree(measured);
        System.out.printf("{\"side\": \"kafka\", \"bench\": \"append\", \"appends\": %d, \"bytes\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}%n",
            count, bytes, wall, cpu);
    }

    static double percentile(long[] sortedNs, double part) {
        return sortedNs[(int) Math.min(sortedNs.length - 1, Math.floor(part * sortedNs.length))] / 1e3;
    }

    static void report(String bench, long[] ns) {
        Arrays.sort(ns);
        System.out.printf("{\"side\": \"kafka\", \"bench\": \"%s\", \"count\": %d, \"p50_us\": %.2f, \"p90_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f}%n",
            bench, ns.length, percentile(ns, 0.5), percentile(ns, 0.9), percentile(ns, 0.99), percentile(ns, 0.999));
    }

    // The same generator as in the C++ programs.
    static long state = 42;
    static long below(long bound) {
        state += 0x9e3779b97f4a7c15L;
        long z = state;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return Long.remainderUnsigned(z ^ (z >>> 31), bound);
    }

    // A read finds the batch of a random offset and reads up to 16 KiB from there, as a consumer that seeks.
    static long[] readByOffset(UnifiedLog log, int count) throws Exception {
        ByteBuffer into = ByteBuffer.allocateDirect(16 << 10);
        long[] ns = new long[count];
        long end = log.logEndOffset();
        for (int i = 0; i < count; ++i) {
            long offset = below(end);
            long began = System.nanoTime();
            FetchDataInfo read = log.read(offset, 16 << 10, FetchIsolation.LOG_END, true);
            into.clear();
            into.limit(Math.min(into.capacity(), read.records.sizeInBytes()));
            ((org.apache.kafka.common.record.internal.FileRecords) read.records).readInto(into, 0);
            ns[i] = System.nanoTime() - began;
            if (into.limit() == 0) throw new IllegalStateException("nothing at " + offset);
        }
        return ns;
    }

    static long[] findByTime(UnifiedLog log, int count) throws Exception {
        long[] ns = new long[count];
        long end = log.logEndOffset();
        for (int i = 0; i < count; ++i) {
            long offset = below(end);
            long began = System.nanoTime();
            OffsetResultHolder found = log.fetchOffsetByTimestamp(1_700_000_000_000L + offset, Optional.empty());
            ns[i] = System.nanoTime() - began;
            if (found.timestampAndOffsetOpt().get().offset != offset) throw new IllegalStateException("wrong record");
        }
        return ns;
    }

    static void benchLookup(String directory, int warmUp, int count) throws Exception {
        UnifiedLog log = open(new File(directory));
        readByOffset(log, warmUp);
        findByTime(log, warmUp);
        report("read_by_offset", readByOffset(log, count));
        report("find_by_time", findByTime(log, count));
    }

    static void benchOpen(String folder, int rounds) throws Exception {
        File[] directories = new File(folder).listFiles(File::isDirectory);
        Arrays.sort(directories);
        for (int round = 0; round < rounds; ++round) {
            List<UnifiedLog> logs = new ArrayList<>();
            double cpu = cpuSeconds();
            long began = System.nanoTime();
            for (File directory : directories) logs.add(open(directory));
            double wall = (System.nanoTime() - began) / 1e9;
            cpu = cpuSeconds() - cpu;
            for (UnifiedLog log : logs) log.close();
            System.out.printf("{\"side\": \"kafka\", \"bench\": \"open\", \"round\": %d, \"logs\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}%n",
                round, directories.length, wall, cpu);
        }
    }

    // Everything is behind the recovery point, so all of it is checked and indexed anew.
    static void benchRecover(String directory, int rounds) throws Exception {
        for (int round = 0; round < rounds; ++round) {
            double cpu = cpuSeconds();
            long began = System.nanoTime();
            UnifiedLog log = open(new File(directory).getAbsoluteFile(), false);
            double wall = (System.nanoTime() - began) / 1e9;
            cpu = cpuSeconds() - cpu;
            System.out.printf("{\"side\": \"kafka\", \"bench\": \"recover\", \"round\": %d, \"bytes\": %d, \"end\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}%n",
                round, log.size(), log.logEndOffset(), wall, cpu);
            log.close();
        }
    }

    public static void main(String[] args) throws Exception {
        SCHEDULER.startup();
        switch (args[0]) {
            case "append" -> benchAppend(args[1], args[2], Long.parseLong(args[3]), Long.parseLong(args[4]));
            case "lookup" -> benchLookup(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]));
            case "open" -> benchOpen(args[1], Integer.parseInt(args[2]));
            case "recover" -> benchRecover(args[1], Integer.parseInt(args[2]));
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.exit(0);
    }
}
