// The batches of a history in bytes, as Apache Kafka's own client and coordinator make them.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

final class HistoryBatches {
  private HistoryBatches() {}

  // A value of `size` bytes that compresses well but not to nothing.
  static byte[] value(long seed, int size) {
    byte[] bytes = new byte[size];
    long state = seed * 0x9e3779b97f4a7c15L + 1;
    for (int i = 0; i < size; ++i) {
      state = state * 6364136223846793005L + 1442695040888963407L;
      bytes[i] = (byte) ('a' + ((state >>> 40) & 7));
    }
    return bytes;
  }

  // A record is KEY:SIZE:TIME; "-" is a null key or value, TIME is relative to now, or "none".
  static ByteBuffer batch(Map<String, String> options, long base, int leaderEpoch, long now) {
    long producer = Long.parseLong(options.getOrDefault("pid", "-1"));
    short producerEpoch = Short.parseShort(options.getOrDefault("pe", "-1"));
    int sequence = Integer.parseInt(options.getOrDefault("seq", "-1"));
    long step = Long.parseLong(options.getOrDefault("step", "1"));
    long seed = Long.parseLong(options.getOrDefault("seed", "1"));
    byte magic = Byte.parseByte(options.getOrDefault("magic", "2"));
    Compression codec = Compression.of(CompressionType.forName(options.getOrDefault("codec", "none"))).build();
    TimestampType type = options.containsKey("lat") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
    String[] records = options.get("records").split(",");
    ByteBufferOutputStream out = new ByteBufferOutputStream(1 << 12);
    long offset = base;
    for (int times = Integer.parseInt(options.getOrDefault("times", "1")); times > 0; --times) {
      ByteBufferOutputStream one = new ByteBufferOutputStream(1 << 12);
      MemoryRecordsBuilder builder = new MemoryRecordsBuilder(one, magic, codec, type, offset,
          type == TimestampType.CREATE_TIME ? RecordBatch.NO_TIMESTAMP : now, producer, producerEpoch, sequence,
          options.containsKey("txn"), false, leaderEpoch, 1 << 20);
      for (String record : records) {
        String[] parts = record.split(":");
        long time = parts[2].equals("none") ? RecordBatch.NO_TIMESTAMP : now + Long.parseLong(parts[2]);
        byte[] key = parts[0].equals("-") ? null : parts[0].getBytes(StandardCharsets.UTF_8);
        byte[] value = parts[1].equals("-") ? null : value(seed++, Integer.parseInt(parts[1]));
        builder.appendWithOffset(offset, time, key, value, new Header[0]);
        offset += step;
      }
      out.write(builder.build().buffer());
      if (sequence >= 0) sequence += records.length;
    }
    out.buffer().flip();
    return out.buffer();
  }

  static ByteBuffer marker(Map<String, String> options, long base, int leaderEpoch, long now) {
    ControlRecordType type = options.get("kind").equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
    EndTransactionMarker marker = new EndTransactionMarker(type, Integer.parseInt(options.getOrDefault("ce", "0")));
    return MemoryRecords.withEndTransactionMarker(base, now + Long.parseLong(options.getOrDefault("time", "0")), leaderEpoch,
        Long.parseLong(options.get("pid")), Short.parseShort(options.getOrDefault("pe", "0")), marker).buffer();
  }
}
