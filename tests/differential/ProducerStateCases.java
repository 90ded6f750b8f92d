// Random histories of a partition's producers, with what Apache Kafka's own ProducerStateManager says to each step.
//
//   java -cp '<libs>/*' ProducerStateCases.java [histories] > tests/golden/storage/producer_state_cases.txt
//
// Replayed by src/storage/producer_state_golden_test.cc. One step a line, "<step> -> <answer>":
//   history                                                     a new state
//   batch origin pid epoch sequence count offset time txn bump  -> ok | duplicate first last time | refusal
//   marker origin pid epoch coordinator offset time kind version -> ok | done first last kind lso | refusal
//   watermark offset | expire now | reload now                  -> ok
// origin: c client, o coordinator, r replication. kind: C commit, A abort. bump: the producer bumps its epoch itself.
// After each step comes " / <first unstable offset or -> / <map end> / <the producer>"; a reload also prints the
// snapshot as hex.

import java.io.File;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

public class ProducerStateCases {
  static final int EXPIRATION_MS = 1000;
  static final Random random = new Random(4400);

  static final Method FIND_DUPLICATE = find("findDuplicateBatch");

  static Method find(String name) {
    for (Method m : ProducerStateEntry.class.getDeclaredMethods()) {
      if (!m.getName().equals(name)) continue;
      m.setAccessible(true);
      return m;
    }
    throw new IllegalStateException(name);
  }

  final File directory;
  ProducerStateManager state;
  long end = 0;
  long now = 10_000;

  ProducerStateCases() throws Exception {
    directory = Files.createTempDirectory("producers").toFile();
    state = fresh();
  }

  ProducerStateManager fresh() throws Exception {
    return new ProducerStateManager(new TopicPartition("t", 0), directory, 900_000,
        new ProducerStateManagerConfig(EXPIRATION_MS, false), Time.SYSTEM);
  }

  static AppendOrigin origin(char c) {
    return c == 'c' ? AppendOrigin.CLIENT : c == 'o' ? AppendOrigin.COORDINATOR : AppendOrigin.REPLICATION;
  }

  static String refusal(Exception e) {
    String name = e.getClass().getSimpleName().replace("Exception", "");
    return name.replaceAll("(.)([A-Z])", "$1_$2").toLowerCase();
  }

  String known(long pid) {
    Optional<ProducerStateEntry> entry = state.lastEntry(pid);
    if (entry.isEmpty()) return "unknown";
    ProducerStateEntry e = entry.get();
    String batches = e.batchMetadata().stream()
        .map(b -> b.firstSeq() + "-" + b.lastSeq() + "@" + b.firstOffset() + "-" + b.lastOffset() + "t" + b.timestamp())
        .collect(Collectors.joining(","));
    return "epoch " + e.producerEpoch() + " coordinator " + e.coordinatorEpoch() + " time " + e.lastTimestamp() + " txn "
        + (e.currentTxnFirstOffset().isPresent() ? e.currentTxnFirstOffset().getAsLong() : "-") + " [" + batches + "]";
  }

  String after(long pid) {
    String unstable = state.firstUnstableOffset().map(m -> String.valueOf(m.messageOffset)).orElse("-");
    return " / " + unstable + " / " + state.mapEndOffset() + " / " + known(pid);
  }

  String batch(char from, long pid, short epoch, int sequence, int count, long offset, long time, boolean txn,
               boolean bump) throws Exception {
    SimpleRecord[] records = new SimpleRecord[count];
    for (int i = 0; i < count; ++i) records[i] = new SimpleRecord(time, null, "v".getBytes());
    MemoryRecords memory = MemoryRecords.withRecords(RecordBatch.MAGIC_VALUE_V2, offset, Compression.NONE,
        TimestampType.CREATE_TIME, pid, epoch, sequence, 0, txn, records);
    RecordBatch batch = memory.batches().iterator().next();
    if (from == 'c') {
      ProducerStateEntry entry = state.lastEntry(pid).orElse(null);
      Optional<?> duplicate = entry == null ? Optional.empty() : (Optional<?>) FIND_DUPLICATE.invoke(entry, batch);
      if (duplicate.isPresent()) {
        BatchMetadata d = (BatchMetadata) duplicate.get();
        return "duplicate " + d.firstOffset() + " " + d.lastOffset() + " " + d.timestamp();
      }
    }
    try {
      if (bump) state.maybeCreateVerificationStateEntry(pid, sequence, epoch, true);
      ProducerAppendInfo info = state.prepareUpdate(pid, origin(from));
      info.append(batch, Optional.of(new LogOffsetMetadata(offset)));
      state.update(info);
      state.updateMapEndOffset(offset + count);
      end = offset + count;
      return "ok";
    } catch (Exception e) {
      return refusal(e);
    } finally {
      if (bump) state.clearVerificationStateEntry(pid);
    }
  }

  String marker(char from, long pid, short epoch, int coordinator, long offset, long time, char kind, short version) {
    try {
      ProducerAppendInfo info = state.prepareUpdate(pid, origin(from));
      EndTransactionMarker marker = new EndTransactionMarker(
          kind == 'C' ? ControlRecordType.COMMIT : ControlRecordType.ABORT, coordinator);
      Optional<CompletedTxn> done = info.appendEndTxnMarker(marker, epoch, offset, time, version);
      state.update(info);
      state.updateMapEndOffset(offset + 1);
      end = offset + 1;
      if (done.isEmpty()) return "ok";
      long stable = state.lastStableOffset(done.get());
      state.completeTxn(done.get());
      return "done " + done.get().firstOffset() + " " + done.get().lastOffset() + " "
          + (done.get().isAborted() ? 'A' : 'C') + " " + stable;
    } catch (Exception e) {
      return refusal(e);
    }
  }

  String reload() throws Exception {
    for (File f : directory.listFiles()) f.delete();
    state = replaceBySnapshot();
    return "ok";
  }

  String snapshot = "";

  ProducerStateManager replaceBySnapshot() throws Exception {
    File file = new File(directory, String.format("%020d.snapshot", end));
    ProducerStateManager.writeSnapshot(file, state.activeProducers(), true);
    snapshot = HexFormat.of().formatHex(Files.readAllBytes(file.toPath()));
    ProducerStateManager loaded = fresh();
    loaded.truncateAndReload(-1, end, now);
    return loaded;
  }

  @SafeVarargs
  static <T> T any(T... choices) { return choices[random.nextInt(choices.length)]; }

  void step() throws Exception {
    now += random.nextInt(60);
    int what = random.nextInt(100);
    long pid = random.nextInt(4);
    ProducerStateEntry entry = state.lastEntry(pid).orElse(null);
    if (what < 65) {
      char from = random.nextInt(10) < 8 ? 'c' : any('o', 'r');
      short epoch = entry == null ? (short) random.nextInt(3) : entry.producerEpoch();
      if (random.nextInt(12) == 0) epoch = (short) Math.max(0, epoch + any(-1, 1, 1));
      int last = -1;
      int lastCount = 1;
      if (entry != null) for (var b : entry.batchMetadata()) last = b.lastSeq();
      int sequence = last == Integer.MAX_VALUE ? 0 : last + 1;
      int count = 1 + random.nextInt(4);
      if (entry == null && random.nextInt(4) == 0) sequence = Integer.MAX_VALUE - random.nextInt(6);
      switch (random.nextInt(12)) {
        case 0: sequence = random.nextInt(5); break;
        case 1: sequence = Math.max(0, sequence - 1 - random.nextInt(3)); break;
        case 2: sequence = Math.max(0, sequence + random.nextInt(3)); break;
        case 3: case 4:
          if (entry != null && !entry.batchMetadata().isEmpty()) {
            var batches = entry.batchMetadata().toArray(new BatchMetadata[0]);
            var b = batches[random.nextInt(batches.length)];
            sequence = b.firstSeq();
            count = b.offsetDelta() + 1;
          }
          break;
        default:
      }
      boolean txn = entry != null && entry.currentTxnFirstOffset().isPresent() ? random.nextInt(12) != 0
                                                                              : random.nextInt(3) == 0;
      boolean bump = txn && random.nextInt(3) == 0;
      long offset = end + (random.nextInt(6) == 0 ? random.nextInt(3) : 0);
      long time = any(now, now, now, now - (long) random.nextInt(3000), -1L);
      String head = "batch " + from + " " + pid + " " + epoch + " " + sequence + " " + count + " " + offset + " " + time
          + " " + (txn ? 1 : 0) + " " + (bump ? 1 : 0);
      System.out.println(head + " -> " + batch(from, pid, epoch, sequence, count, offset, time, txn, bump) + after(pid));
    } else if (what < 85) {
      char from = random.nextInt(8) == 0 ? 'r' : 'o';
      short epoch = entry == null ? (short) random.nextInt(3) : entry.producerEpoch();
      if (random.nextInt(4) == 0) epoch = (short) Math.max(0, epoch + any(-1, 1, 1));
      int coordinator = entry == null ? random.nextInt(3) : Math.max(0, entry.coordinatorEpoch());
      if (random.nextInt(5) == 0) coordinator = Math.max(0, coordinator + any(-1, 1));
      short version = any((short) 0, (short) 1, (short) 2);
      char kind = any('C', 'A');
      String head = "marker " + from + " " + pid + " " + epoch + " " + coordinator + " " + end + " " + now + " " + kind
          + " " + version;
      System.out.println(head + " -> " + marker(from, pid, epoch, coordinator, end, now, kind, version) + after(pid));
    } else if (what < 93) {
      long offset = Math.max(0, end - random.nextInt(6));
      state.onHighWatermarkUpdated(offset);
      System.out.println("watermark " + offset + " -> ok" + after(0));
    } else if (what < 96) {
      state.removeExpiredProducers(now);
      System.out.println("expire " + now + " -> ok" + after(pid));
    } else if (end > 0) {
      reload();
      System.out.println("reload " + now + " -> ok " + snapshot + after(pid));
    }
  }

  public static void main(String[] arguments) throws Exception {
    int histories = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30;
    for (int h = 0; h < histories; ++h) {
      System.out.println("history");
      ProducerStateCases one = new ProducerStateCases();
      for (int i = 0; i < 60; ++i) one.step();
      for (File f : one.directory.listFiles()) f.delete();
      one.directory.delete();
    }
  }
}
