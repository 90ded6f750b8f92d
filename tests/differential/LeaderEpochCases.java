// Random histories of a leader epoch cache, with what Apache Kafka's own LeaderEpochFileCache makes of each step.
//
//   java -cp '<libs>/*' LeaderEpochCases.java [histories] > tests/golden/storage/leader_epoch_cases.txt
//
// Replayed by src/storage/leader_epoch_cache_test.cc. One step a line, "<step> -> <entries> / <answer>":
//   history | assign epoch offset | from_end offset | from_start offset | clear | end_of epoch log_end | epoch_of offset
// entries: "epoch@start,...". The answer of end_of is "epoch end", that of epoch_of an epoch or -.

import java.io.File;
import java.nio.file.Files;
import java.util.Random;
import java.util.concurrent.ScheduledFuture;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

public class LeaderEpochCases {
  static class AtOnce implements Scheduler {
    public void startup() {}
    public void shutdown() {}
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
      task.run();
      return null;
    }
    public void resizeThreadPool(int size) {}
  }

  public static void main(String[] arguments) throws Exception {
    int histories = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 25;
    Random random = new Random(4401);
    for (int h = 0; h < histories; ++h) {
      File directory = Files.createTempDirectory("epochs").toFile();
      LeaderEpochFileCache cache = new LeaderEpochFileCache(new TopicPartition("t", 0),
          new LeaderEpochCheckpointFile(new File(directory, "leader-epoch-checkpoint"), new LogDirFailureChannel(1)),
          new AtOnce());
      System.out.println("history");
      int epoch = 0;
      long end = 0;
      for (int i = 0; i < 60; ++i) {
        String step;
        String answer = "-";
        switch (random.nextInt(9)) {
          case 0: case 1: case 2: case 3: {
            epoch += random.nextInt(3);
            end += random.nextInt(10);
            int e = random.nextInt(6) == 0 ? random.nextInt(epoch + 1) : epoch;
            long s = random.nextInt(6) == 0 ? random.nextInt((int) end + 1) : end;
            step = "assign " + e + " " + s;
            cache.assign(e, s);
            break;
          }
          case 4: {
            long o = Math.max(0, end - random.nextInt(20));
            step = "from_end " + o;
            cache.truncateFromEndAsyncFlush(o);
            break;
          }
          case 5: {
            long o = random.nextInt((int) end + 5);
            step = "from_start " + o;
            cache.truncateFromStartAsyncFlush(o);
            break;
          }
          case 6: {
            if (random.nextInt(8) != 0) continue;
            step = "clear";
            cache.clearAndFlush();
            break;
          }
          case 7: {
            int e = random.nextInt(epoch + 4) - 1;
            step = "end_of " + e + " " + (end + 7);
            var found = cache.endOffsetFor(e, end + 7);
            answer = found.getKey() + " " + found.getValue();
            break;
          }
          default: {
            long o = random.nextInt((int) end + 5);
            step = "epoch_of " + o;
            var found = cache.epochForOffset(o);
            answer = found.isPresent() ? String.valueOf(found.getAsInt()) : "-";
          }
        }
        String entries = cache.epochEntries().stream().map(x -> x.epoch() + "@" + x.startOffset())
            .collect(Collectors.joining(","));
        System.out.println(step + " -> " + entries + " / " + answer);
      }
    }
  }
}
