import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.TopicPartitionReplica;

/**
 * Moves one replica to another log directory with Apache Kafka's own Admin client, and waits until it is there:
 * MoveReplica BOOTSTRAP TOPIC PARTITION DIRECTORY [begin], where "begin" does not wait. Prints the largest lag of the
 * future replica that it saw.
 */
public class MoveReplica {
  public static void main(String[] arguments) throws Exception {
    TopicPartitionReplica replica = new TopicPartitionReplica(arguments[1], Integer.parseInt(arguments[2]), 1);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
      admin.alterReplicaLogDirs(Map.of(replica, arguments[3])).all().get(60, TimeUnit.SECONDS);
      if (arguments.length > 4) {
        System.out.println("begun");
        return;
      }
      long largestLag = -1;
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
      while (true) {
        var info = admin.describeReplicaLogDirs(java.util.List.of(replica)).all().get(60, TimeUnit.SECONDS).get(replica);
        if (info.getFutureReplicaLogDir() == null) {
          if (!arguments[3].equals(info.getCurrentReplicaLogDir())) {
            throw new IllegalStateException("it lies in " + info.getCurrentReplicaLogDir());
          }
          break;
        }
        if (!arguments[3].equals(info.getFutureReplicaLogDir())) throw new IllegalStateException(info.toString());
        largestLag = Math.max(largestLag, info.getFutureReplicaOffsetLag());
        if (System.nanoTime() > deadline) throw new IllegalStateException("not moved in time: " + info);
        Thread.sleep(1);
      }
      System.out.println("moved, largest lag seen " + largestLag);
    }
  }
}
