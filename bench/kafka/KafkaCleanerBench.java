// Apache Kafka's own Cleaner on a log directory that compaction_bench wrote: KafkaCleanerBench <warm-up directory>
// <directory>. Prints one JSON object with the keys of the C++ program.
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class KafkaCleanerBench {
    static final SkimpyOffsetMap MAP = map();

    static SkimpyOffsetMap map() {
        try {
            return new SkimpyOffsetMap(128 << 20);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime() / 1e9;
    }

    static void clean(File directory, boolean report) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("segment.bytes", 64 << 20);
        settings.put("cleanup.policy", "compact");
        UnifiedLog log = UnifiedLog.create(directory, new LogConfig(settings), 0L, 0L, new KafkaScheduler(1),
            new BrokerTopicStats(), Time.SYSTEM, 900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000,
            new LogDirFailureChannel(10), true, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM);
        Cleaner cleaner = new Cleaner(0, MAP, 256 << 10, 1 << 20, 0.9, throttler, Time.SYSTEM, partition -> { });
        LogToClean toClean = new LogToClean(log, 0L, log.activeSegment().baseOffset(), true);
        double cpu = cpuSeconds();
        long began = System.nanoTime();
        Map.Entry<Long, CleanerStats> result = cleaner.clean(toClean);
        double wall = (System.nanoTime() - began) / 1e9;
        cpu = cpuSeconds() - cpu;
        CleanerStats stats = result.getValue();
        if (report) {
            System.out.printf("{\"side\": \"kafka\", \"bench\": \"compact\", \"records\": %d, \"kept\": %d, \"bytes\": %d, \"end\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}%n",
                stats.messagesRead(), stats.messagesWritten(), stats.bytesRead(), result.getKey(), wall, cpu);
        }
    }

    public static void main(String[] args) throws Exception {
        clean(new File(args[0]), false);
        clean(new File(args[1]), true);
        System.exit(0);
    }
}
