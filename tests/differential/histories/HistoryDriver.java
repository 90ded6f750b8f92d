// Runs histories (see histories.py for their language) over Apache Kafka's own storage classes: LogManager, UnifiedLog,
// LogCleaner and what they own, with a clock that only the history moves and no thread in the background.
//
//   java -cp '<libs>/*:<classes>' HistoryDriver <data directory>
//
// Reads "run <history file>" lines; answers each line of the history with "<line number> <answer>", then "end". The data
// directory is emptied before each history and left as it is after it. What a batch of the history is in bytes is printed
// before its answer ("<line number> = <hex>"), so that the other driver appends the same ones.

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.DescribeProducersResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.metadata.ConfigRepository;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class HistoryDriver {
  static final TopicPartition PARTITION = new TopicPartition("t", 0);
  static final Uuid TOPIC_ID = new Uuid(0x1111222233334444L, 0x5555666677778888L);
  static final long NEVER = Long.MAX_VALUE / 4;

  static class ManualTime implements Time {
    volatile long now = 1_700_000_000_000L;
    public long milliseconds() { return now; }
    public long nanoseconds() { return now * 1_000_000; }
    public void sleep(long ms) {}
    public void waitObject(Object object, java.util.function.Supplier<Boolean> condition, long deadline) {}
  }

  static class Never extends FutureTask<Void> implements ScheduledFuture<Void> {
    Never() { super(() -> null); }
    public long getDelay(TimeUnit unit) { return 0; }
    public int compareTo(Delayed other) { return 0; }
  }

  // Runs what is due when told; what repeats is left to the operations of the history.
  class ManualScheduler implements Scheduler {
    record Task(long due, long number, String name, Runnable work) {}
    final PriorityQueue<Task> tasks = new PriorityQueue<>(Comparator.comparingLong(Task::due).thenComparing(Task::number));
    long number = 0;
    public void startup() {}
    public void shutdown() {}
    public void resizeThreadPool(int size) {}
    public synchronized ScheduledFuture<?> schedule(String name, Runnable work, long delayMs, long periodMs) {
      if (periodMs <= 0 && delayMs < NEVER) tasks.add(new Task(time.now + delayMs, number++, name, work));
      return new Never();
    }
    synchronized Task due() {
      return tasks.isEmpty() || tasks.peek().due > time.now ? null : tasks.poll();
    }
    void runDue() {
      for (Task task = due(); task != null; task = due()) {
        try {
          task.work.run();
        } catch (RuntimeException e) {
          System.err.println(task.name + ": " + e);
        }
      }
    }
  }

  final File root;
  final PrintStream out;
  ManualTime time;
  ManualScheduler scheduler;
  Map<String, String> topicConfig;
  int expirationMs;
  long dedupeBufferSize;
  LogDirFailureChannel failures;
  LogManager manager;
  UnifiedLog log;

  HistoryDriver(File root, PrintStream out) {
    this.root = root;
    this.out = out;
  }

  static void removeTree(File file) {
    File[] entries = file.listFiles();
    if (entries != null) for (File each : entries) removeTree(each);
    file.delete();
  }

  // --- the life of the directory ---

  static LogConfig defaults() {
    return new LogConfig(Map.of("retention.ms", "-1", "segment.bytes", "1073741824"));
  }

  Properties properties() {
    Properties all = new Properties();
    // Sizes below 1 MiB are not for users: an internal key takes them.
    topicConfig.forEach((key, value) -> all.put(key.equals("segment.bytes") ? "internal.segment.bytes" : key, value));
    return all;
  }

  void open() throws Exception {
    ConfigRepository configs = (ConfigResource resource) ->
        resource.type() == ConfigResource.Type.TOPIC && resource.name().equals("t") ? properties() : new Properties();
    scheduler = new ManualScheduler();
    failures = new LogDirFailureChannel(4);
    CleanerConfig cleanerConfig =
        new CleanerConfig(1, dedupeBufferSize, 0.9, 64 << 10, 8 << 20, Double.MAX_VALUE, 15_000, true);
    ProducerStateManagerConfig producers = new ProducerStateManagerConfig(expirationMs, false);
    manager = new LogManager(List.of(root), List.of(), configs, defaults(), cleanerConfig, 1, NEVER, NEVER, NEVER, NEVER,
        900_000, producers, 600_000, scheduler, new BrokerTopicStats(), failures, time, false, NEVER,
        (config, directories, logs, channel, clock) -> new LogCleaner(config, directories, logs, channel, clock) {
          @Override public void startup() {}  // runs when the history says so
        });
    manager.startup(Set.of("t"));
    log = manager.getOrCreateLog(PARTITION, Optional.of(TOPIC_ID));
    Long checkpointed = highWatermarks().read().get(PARTITION);
    log.updateHighWatermark(checkpointed == null ? 0L : checkpointed);
    scheduler.runDue();
  }

  OffsetCheckpointFile highWatermarks() throws Exception {
    return new OffsetCheckpointFile(new File(root, "replication-offset-checkpoint"), failures);
  }

  void checkpoint() throws Exception {
    manager.checkpointLogRecoveryOffsets();
    // Cordwood checks a segment more after some crashes (docs/compat.md): with its recovery point both sides check the same.
    long point = log.recoveryPoint();
    if (point == log.logEndOffset() && point > log.activeSegment().baseOffset() && log.activeSegment().size() > 0) {
      new OffsetCheckpointFile(new File(root, "recovery-point-offset-checkpoint"), failures).write(Map.of(PARTITION, point - 1));
    }
    manager.checkpointLogStartOffsets();
    highWatermarks().write(Map.of(PARTITION, log.highWatermark()));
  }

  void stopCleanly() throws Exception {
    highWatermarks().write(Map.of(PARTITION, log.highWatermark()));
    manager.shutdown(7);
    manager = null;
    log = null;
  }

  // As if the process had died: what is written is written, nothing else is.
  void die() throws Exception {
    for (UnifiedLog each : manager.allLogs()) {
      each.closeQuietly();
      each.removeLogMetrics();
    }
    for (FileLock lock : manager.dirLocks()) {
      try {
        lock.destroy();
      } catch (java.nio.channels.ClosedChannelException e) {
        // It failed while loading and has let go of its locks itself.
      }
    }
    if (manager.cleaner() != null) manager.cleaner().removeMetrics();
    manager = null;
    log = null;
  }

  static Object call(Object target, Class<?> type, String name) throws Exception {
    Method method = type.getDeclaredMethod(name);
    method.setAccessible(true);
    return method.invoke(target);
  }

  String compact() throws Exception {
    LogCleaner cleaner = manager.cleaner();
    LogCleaner.CleanerThread thread = cleaner.new CleanerThread(0);
    cleaner.cleanerManager().maintainUncleanablePartitions();
    boolean cleaned = (Boolean) call(thread, LogCleaner.CleanerThread.class, "tryCleanFilthiestLog");
    boolean uncleanable = !cleaner.cleanerManager().uncleanablePartitions(root.getAbsolutePath()).isEmpty();
    return (cleaned ? "cleaned" : "nothing") + (uncleanable ? " uncleanable" : "");
  }

  String files() throws Exception {
    List<String> lines = new ArrayList<>();
    list(root, "", lines);
    return lines.stream().sorted().collect(Collectors.joining(" "));
  }

  static void list(File directory, String prefix, List<String> into) throws Exception {
    for (File file : directory.listFiles()) {
      if (file.isDirectory()) {
        list(file, prefix + file.getName() + "/", into);
        continue;
      }
      if (file.getName().equals(".lock")) continue;
      byte[] bytes = Files.readAllBytes(file.toPath());
      // The room that an index has in reserve is in its size alone.
      int used = bytes.length;
      while (file.getName().endsWith("index") && used > 0 && bytes[used - 1] == 0) --used;
      CRC32C crc = new CRC32C();
      crc.update(bytes, 0, used);
      into.add(String.format("%s%s=%d:%08x", prefix, file.getName(), bytes.length, crc.getValue()));
    }
  }

  // damage <suffix or file name> <how many from the last> cut n | flip n | zero n m | append hex | remove
  String damage(String[] words) throws Exception {
    if (manager != null) return "open already";
    File inLog = new File(root, "t-0");
    List<File> found = new ArrayList<>();
    for (File directory : List.of(root, inLog)) {
      File[] entries = directory.listFiles();
      if (entries == null) continue;
      for (File file : entries) {
        if (file.isFile() && (file.getName().equals(words[1]) || file.getName().endsWith("." + words[1]))) found.add(file);
      }
    }
    found.sort(Comparator.comparing(File::getName));
    int index = found.size() - 1 - Integer.parseInt(words[2]);
    if (index < 0) return "none";
    Path path = found.get(index).toPath();
    if (words[3].equals("remove")) {
      Files.delete(path);
      return "done";
    }
    byte[] bytes = Files.readAllBytes(path);
    if (words[3].equals("append")) {
      byte[] more = HexFormat.of().parseHex(words[4]);
      byte[] all = Arrays.copyOf(bytes, bytes.length + more.length);
      System.arraycopy(more, 0, all, bytes.length, more.length);
      bytes = all;
    } else {
      int n = Integer.parseInt(words[4]);
      if (n > bytes.length || n < 1) return "none";
      int at = bytes.length - n;
      switch (words[3]) {
        case "cut" -> bytes = Arrays.copyOf(bytes, at);
        case "flip" -> bytes[at] ^= 1;
        case "zero" -> Arrays.fill(bytes, at, Math.min(bytes.length, at + Integer.parseInt(words[5])), (byte) 0);
        default -> throw new IllegalArgumentException(words[3]);
      }
    }
    Files.write(path, bytes);
    return "done";
  }

  // --- the words of an operation ---

  static Map<String, String> options(String[] words, int from) {
    Map<String, String> all = new HashMap<>();
    for (int i = from; i < words.length; ++i) {
      int at = words[i].indexOf('=');
      all.put(at < 0 ? words[i] : words[i].substring(0, at), at < 0 ? "1" : words[i].substring(at + 1));
    }
    return all;
  }

  // Kafka moves its high watermark and its last stable offset to the start of the batch that holds or follows them, once
  // it has looked them up. Both sides tell them so: in a gap, or below the log start, nobody can see the difference.
  long highWatermark() throws Exception { return startOfBatch(log.highWatermark()); }
  long lastStable() throws Exception { return Math.max(startOfBatch(log.lastStableOffset()), log.logStartOffset()); }

  // "17", "end-3", "hw", "lso", "start+2"; never below 0.
  long offset(String text) throws Exception {
    int sign = Math.max(text.lastIndexOf('+'), text.lastIndexOf('-'));
    String name = sign < 0 ? text : text.substring(0, sign);
    long delta = sign < 0 ? 0 : Long.parseLong(text.substring(text.charAt(sign) == '+' ? sign + 1 : sign));
    long base = switch (name) {
      case "end" -> log.logEndOffset();
      case "hw" -> highWatermark();
      case "lso" -> lastStable();
      case "start" -> log.logStartOffset();
      default -> Long.parseLong(name);
    };
    return Math.max(0, base + delta);
  }

  // The high watermark lies between batches, as replication moves it.
  long startOfBatch(long offset) throws Exception {
    long from = Math.max(offset, log.logStartOffset());
    if (from >= log.logEndOffset()) return log.logEndOffset();
    for (RecordBatch batch : log.read(from, 1, FetchIsolation.LOG_END, true).records.batches()) return batch.baseOffset();
    return log.logEndOffset();
  }

  // Both sides do at once what Kafka does with a high watermark in a gap of the offsets, once it has looked it up.
  void leaveGap() {
    if (manager == null) return;
    try {
      long to = highWatermark();
      if (to > log.highWatermark()) {
        log.maybeIncrementHighWatermark(to < log.logEndOffset() ? new LogOffsetMetadata(to) : log.logEndOffsetMetadata());
      }
    } catch (Exception e) {
      // A log that has failed says so to the operations of the history.
    }
  }

  static String refusal(Throwable thrown) {
    if (thrown instanceof RecordValidationException e) thrown = e.invalidException();
    String name = thrown.getClass().getSimpleName();
    if (name.equals("OffsetsOutOfOrderException") || name.equals("UnexpectedAppendOffsetException")) {
      return "refused OFFSETS_OUT_OF_ORDER";
    }
    return "refused " + Errors.forException(thrown).name();
  }

  String append(int number, String[] words, boolean follower) throws Exception {
    Map<String, String> options = options(words, 1);
    int epoch = Integer.parseInt(options.getOrDefault("epoch", "0"));
    long base = follower ? offset(options.getOrDefault("at", "end")) : 0;
    ByteBuffer bytes = words[0].equals("marker") || options.containsKey("kind")
        ? HistoryBatches.marker(options, base, follower ? epoch : -1, time.now)
        : HistoryBatches.batch(options, base, follower ? epoch : -1, time.now);
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    out.println(number + " = " + HexFormat.of().formatHex(copy));
    MemoryRecords records = MemoryRecords.readableRecords(bytes);
    long end = log.logEndOffset();
    LogAppendInfo info;
    if (follower) {
      info = log.appendAsFollower(records, Integer.MAX_VALUE);
    } else {
      AppendOrigin origin = words[0].equals("marker") ? AppendOrigin.COORDINATOR : AppendOrigin.CLIENT;
      short version = Short.parseShort(options.getOrDefault("tv", "0"));
      info = log.appendAsLeader(records, epoch, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, version);
    }
    boolean written = log.logEndOffset() != end;
    return (written ? "ok " : "duplicate ") + (info.firstOffset() < 0 ? base : info.firstOffset()) + " "
        + info.lastOffset() + (written ? "" : " " + info.logAppendTime());
  }

  String read(String[] words) throws Exception {
    Map<String, String> options = options(words, 2);
    FetchIsolation isolation = switch (options.getOrDefault("to", "end")) {
      case "hw" -> FetchIsolation.HIGH_WATERMARK;
      case "lso" -> FetchIsolation.TXN_COMMITTED;
      default -> FetchIsolation.LOG_END;
    };
    FetchDataInfo read = log.read(offset(words[1]), Integer.parseInt(options.getOrDefault("max", "100000")), isolation,
        options.containsKey("one"));
    StringBuilder text = new StringBuilder("read");
    if (read.records instanceof FileRecords || read.records.sizeInBytes() > 0) {
      for (RecordBatch batch : read.records.batches()) {
        text.append(' ').append(batch.baseOffset()).append('-').append(batch.lastOffset()).append('@')
            .append(batch.partitionLeaderEpoch()).append(':').append(batch.sizeInBytes()).append(':')
            .append(Long.toHexString(batch.checksum()));
      }
    }
    if (read.firstEntryIncomplete) text.append(" incomplete");
    read.abortedTransactions.ifPresent(list -> {
      text.append(" aborted=");
      text.append(list.stream().map(a -> a.producerId() + "@" + a.firstOffset()).sorted().collect(Collectors.joining(",")));
    });
    return text.toString();
  }

  String found(long target) {
    return log.fetchOffsetByTimestamp(target, Optional.empty()).timestampAndOffsetOpt()
        .map(f -> "found " + f.offset + " " + f.timestamp + " " + f.leaderEpoch.map(String::valueOf).orElse("-"))
        .orElse("found nothing");
  }

  static String producer(DescribeProducersResponseData.ProducerState p) {
    return p.producerId() + ":" + p.producerEpoch() + ":" + p.lastSequence() + ":" + p.lastTimestamp() + ":"
        + p.coordinatorEpoch() + ":" + p.currentTxnStartOffset();
  }

  String run(int number, String[] words) throws Exception {
    if (manager == null && !Set.of("config", "broker", "open", "clock", "damage", "files").contains(words[0])) {
      return "closed";
    }
    switch (words[0]) {
      case "broker" -> {
        Map<String, String> options = options(words, 1);
        expirationMs = Integer.parseInt(options.getOrDefault("producer.id.expiration.ms", "" + expirationMs));
        dedupeBufferSize = Long.parseLong(options.getOrDefault("dedupe", "" + dedupeBufferSize));
      }
      case "config" -> {
        topicConfig.putAll(options(words, 1));
        if (manager != null) manager.updateTopicConfig("t", properties(), false, false);
      }
      case "open" -> {
        if (manager != null) return "open already";
        try {
          open();
        } catch (Throwable t) {
          System.err.println("open: " + t);
          for (Throwable cause = t.getCause(); cause != null; cause = cause.getCause()) System.err.println("  by " + cause);
          if (manager != null) die();
          return "refused";
        }
      }
      case "append", "marker" -> { return append(number, words, false); }
      case "follow" -> { return append(number, words, true); }
      case "epoch" -> log.assignEpochStartOffset(Integer.parseInt(words[1]), log.logEndOffset());
      case "hw" -> {
        long to = startOfBatch(offset(words[1]));
        log.maybeIncrementHighWatermark(to < log.logEndOffset() ? new LogOffsetMetadata(to) : log.logEndOffsetMetadata());
        return "hw " + highWatermark();
      }
      case "clock" -> time.now += Long.parseLong(words[1]);
      case "roll" -> {
        if (log.activeSegment().size() > 0) log.roll();
      }
      case "retention" -> call(manager, LogManager.class, "cleanupLogs");
      case "compact" -> { return compact(); }
      case "delete-records" ->
        log.maybeIncrementLogStartOffset(offset(words[1]), LogStartOffsetIncrementReason.ClientRecordDeletion);
      case "truncate" -> {
        manager.truncateTo(Map.of(PARTITION, offset(words[1])), false);
        // As the next fetch does, and with it the last stable offset forgets transactions that were cut off.
        log.updateHighWatermark(log.highWatermark());
        checkpoint();
      }
      case "truncate-fully" -> {
        manager.truncateFullyAndStartAt(PARTITION, offset(words[1]), false, Optional.empty());
        checkpoint();
      }
      case "expire" -> log.removeExpiredProducers(time.now);
      case "flush" -> {
        if (words.length > 1) log.flushUptoOffsetExclusive(Math.min(offset(words[1]), log.logEndOffset()));
        else log.flush(false);
      }
      case "checkpoint" -> checkpoint();
      case "stop" -> {
        if (words[1].equals("clean")) stopCleanly();
        else die();
        return "ok " + files();
      }
      case "damage" -> { return damage(words); }
      case "read" -> { return read(words); }
      case "time" -> { return found(time.now + Long.parseLong(words[1])); }
      case "max-time" -> { return found(-3); }
      case "epoch-end" -> {
        Optional<OffsetAndEpoch> end = log.endOffsetForEpoch(Integer.parseInt(words[1]));
        return end.map(e -> "epoch " + e.epoch() + " ends " + e.offset()).orElse("epoch unknown");
      }
      case "offsets" -> {
        return "start=" + log.logStartOffset() + " end=" + log.logEndOffset() + " hw=" + highWatermark() + " lso="
            + lastStable() + " recovery=" + log.recoveryPoint() + " segments=" + log.numberOfSegments()
            + " active=" + log.activeSegment().baseOffset() + " size=" + log.size() + " epochs="
            + log.leaderEpochCache().epochEntries().stream().map(e -> e.epoch() + "@" + e.startOffset())
                .collect(Collectors.joining(","));
      }
      case "producers" -> {
        return "producers " + log.activeProducers().stream()
            .sorted(Comparator.comparingLong(DescribeProducersResponseData.ProducerState::producerId))
            .map(HistoryDriver::producer).collect(Collectors.joining(" "));
      }
      case "files" -> { return "ok " + files(); }
      default -> throw new IllegalArgumentException(words[0]);
    }
    return "ok";
  }

  void runHistory(String file) throws Exception {
    removeTree(root);
    root.mkdirs();
    time = new ManualTime();
    topicConfig = new HashMap<>();
    expirationMs = 86_400_000;
    dedupeBufferSize = 1 << 20;
    List<String> lines = Files.readAllLines(Path.of(file), StandardCharsets.UTF_8);
    for (int i = 0; i < lines.size(); ++i) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) continue;
      String answer;
      try {
        answer = run(i + 1, line.split("\\s+"));
      } catch (Exception e) {
        answer = refusal(e);
        if (answer.contains("UNKNOWN_SERVER_ERROR")) e.printStackTrace();
      }
      if (manager != null) scheduler.runDue();
      leaveGap();
      out.println((i + 1) + " " + answer.strip());
    }
    if (manager != null) die();
    out.println("end");
    out.flush();
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    System.setOut(System.err);
    Exit.setHaltProcedure((code, message) -> { throw new IllegalStateException("halt " + message); });
    Exit.setExitProcedure((code, message) -> { throw new IllegalStateException("exit " + message); });
    HistoryDriver driver = new HistoryDriver(new File(arguments[0]).getAbsoluteFile(), out);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      driver.runHistory(line.substring("run ".length()));
    }
    System.exit(0);
  }
}
