// What Apache Kafka's own assignors make of groups, for comparison with ours. assignors.py describes the lines.
//
//   java -cp '<jars>/*' Assignors.java < groups
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

public class Assignors {
  record Member(List<String> topics, List<TopicPartition> owned, int generation, Optional<String> instance) {}

  static List<String> split(String text) {
    return text.equals("-") ? List.of() : List.of(text.split(","));
  }

  static ConsumerPartitionAssignor named(String name) {
    return switch (name) {
      case "range" -> new RangeAssignor();
      case "roundrobin" -> new RoundRobinAssignor();
      case "sticky" -> new StickyAssignor();
      default -> new CooperativeStickyAssignor();
    };
  }

  // What a member of Kafka's client sends along when it had these partitions in this generation.
  @SuppressWarnings("removal")
  static ByteBuffer userData(ConsumerPartitionAssignor assignor, Member member) {
    boolean isSticky = assignor instanceof StickyAssignor || assignor instanceof CooperativeStickyAssignor;
    if (isSticky && (member.generation >= 0 || !member.owned.isEmpty())) {
      assignor.onAssignment(new Assignment(member.owned), new ConsumerGroupMetadata("g", member.generation, "m", Optional.empty()));
    }
    return assignor.subscriptionUserData(new HashSet<>(member.topics));
  }

  static void answer(String id, Map<String, Integer> topics, Map<String, Member> members) {
    Node node = new Node(1, "localhost", 1);
    List<PartitionInfo> infos = new ArrayList<>();
    topics.forEach((topic, count) -> {
      for (int i = 0; i < count; ++i) infos.add(new PartitionInfo(topic, i, node, new Node[] {node}, new Node[] {node}));
    });
    Cluster cluster = new Cluster("c", List.of(node), infos, Set.of(), Set.of());
    for (String name : List.of("range", "roundrobin", "sticky", "cooperative-sticky")) {
      Map<String, Subscription> subscriptions = new LinkedHashMap<>();
      members.forEach((member, said) -> {
        Subscription subscription = new Subscription(said.topics, userData(named(name), said), name.equals("sticky") ? List.of() : said.owned,
            said.generation, Optional.empty());
        // As it travels.
        Subscription arrived = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(subscription));
        arrived.setGroupInstanceId(said.instance);
        subscriptions.put(member, arrived);
      });
      Map<String, Assignment> shares;
      try {
        shares = named(name).assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
      } catch (RuntimeException e) {
        System.out.println(id + " " + name + " !");
        continue;
      }
      for (String member : new TreeMap<>(shares).keySet()) {
        StringBuilder line = new StringBuilder(id + " " + name + " " + member);
        shares.get(member).partitions().forEach(p -> line.append(' ').append(p.topic()).append(':').append(p.partition()));
        System.out.println(line);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    Map<String, Integer> topics = new LinkedHashMap<>();
    Map<String, Member> members = new LinkedHashMap<>();
    for (String line; (line = in.readLine()) != null;) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "topic" -> topics.put(words[1], Integer.parseInt(words[2]));
        case "member" -> {
          List<TopicPartition> owned = new ArrayList<>();
          for (String one : split(words[3])) {
            int colon = one.lastIndexOf(':');
            owned.add(new TopicPartition(one.substring(0, colon), Integer.parseInt(one.substring(colon + 1))));
          }
          members.put(words[1], new Member(split(words[2]), owned, Integer.parseInt(words[4]), words[5].equals("-") ? Optional.empty() : Optional.of(words[5])));
        }
        default -> {
          answer(words[1], topics, members);
          topics.clear();
          members.clear();
        }
      }
    }
  }
}
