// What a case needs on a cluster before its command runs: topics, records, groups, members, transactions.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

class ClusterSteps {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Admin> ADMINS = new ConcurrentHashMap<>();
    private static final Map<String, KafkaProducer<byte[], byte[]>> PRODUCERS = new ConcurrentHashMap<>();
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    static void act(JsonNode step) throws Exception {
        String server = step.get("server").asText();
        switch (step.get("step").asText()) {
            case "warm_up" -> warmUp(server, step.get("transactions").asBoolean());
            case "clean" -> clean(server);
            case "topic" -> topic(server, step);
            case "records" -> records(server, step);
            case "delete_records" -> deleteRecords(server, step);
            case "commit" -> commit(server, step);
            case "member" -> member(server, step);
            case "leave" -> MEMBERS.remove(server + " " + step.get("group").asText()).leave();
            case "transaction" -> transaction(server, step);
            default -> throw new IllegalArgumentException("no step " + step);
        }
    }

    private static Properties client(String server) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", server);
        return properties;
    }

    private static Admin admin(String server) {
        return ADMINS.computeIfAbsent(server, s -> Admin.create(client(s)));
    }

    // The internal topics are there and led, so that no command waits for them; and a topic "warm" with a record to read.
    private static void warmUp(String server, boolean transactions) throws Exception {
        topic(server, JSON.readTree("{\"name\": \"warm\", \"partitions\": 1}"));
        commit(server, JSON.readTree("{\"group\": \"warm\", \"offsets\": [[\"warm\", 0, 0]], \"subscribed\": true}"));
        if (transactions) transaction(server, JSON.readTree("{\"transactional_id\": \"warm\", \"records\": []}"));
        records(server, JSON.readTree("{\"topic\": \"warm\", \"partition\": 0, \"records\": [{\"value\": \"v\"}]}"));
    }

    // Nothing is left but internal topics.
    private static void clean(String server) throws Exception {
        for (String key : Set.copyOf(MEMBERS.keySet())) {
            if (key.startsWith(server + " ")) MEMBERS.remove(key).leave();
        }
        for (String key : Set.copyOf(PRODUCERS.keySet())) {
            if (key.startsWith(server + " ")) PRODUCERS.remove(key).close(Duration.ZERO);
        }
        Admin admin = admin(server);
        List<String> groups = new ArrayList<>();
        for (GroupListing group : admin.listGroups().all().get()) groups.add(group.groupId());
        for (String group : groups) {
            try {
                admin.deleteConsumerGroups(List.of(group)).all().get();
            } catch (ExecutionException e) {
                // A member of a killed tool has not timed out yet: the group stays.
            }
        }
        Set<String> topics = admin.listTopics(new ListTopicsOptions().listInternal(false)).names().get();
        admin.deleteTopics(topics).all().get();
        while (!admin.listTopics(new ListTopicsOptions().listInternal(false)).names().get().isEmpty()) Thread.sleep(20);
    }

    private static void topic(String server, JsonNode step) throws Exception {
        Map<String, String> configs = new HashMap<>();
        if (step.has("configs")) step.get("configs").fields().forEachRemaining(e -> configs.put(e.getKey(), e.getValue().asText()));
        String name = step.get("name").asText();
        NewTopic topic = new NewTopic(name, Optional.of(step.get("partitions").asInt()), Optional.of((short) 1)).configs(configs);
        admin(server).createTopics(List.of(topic)).all().get();
        while (true) {
            try {
                admin(server).describeTopics(List.of(name)).allTopicNames().get();
                return;
            } catch (ExecutionException e) {
                Thread.sleep(20);
            }
        }
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static KafkaProducer<byte[], byte[]> producer(String server, String transactionalId) {
        return PRODUCERS.computeIfAbsent(server + " " + transactionalId, key -> {
            Properties properties = client(server);
            properties.put("enable.idempotence", !transactionalId.isEmpty());
            if (!transactionalId.isEmpty()) {
                properties.put("transactional.id", transactionalId);
                properties.put("transaction.timeout.ms", 600000);
            }
            return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
        });
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, JsonNode step) throws Exception {
        TopicPartition to = new TopicPartition(step.get("topic").asText(), step.get("partition").asInt());
        for (JsonNode record : step.get("records")) {
            RecordHeaders headers = new RecordHeaders();
            if (record.has("headers")) for (JsonNode header : record.get("headers")) headers.add(header.get(0).asText(), bytes(header.get(1)));
            Long timestamp = record.has("timestamp") ? record.get("timestamp").asLong() : null;
            producer.send(new ProducerRecord<>(to.topic(), to.partition(), timestamp, bytes(record.get("key")), bytes(record.get("value")), headers));
        }
        producer.flush();
    }

    private static void records(String server, JsonNode step) throws Exception {
        send(producer(server, ""), step);
    }

    private static void deleteRecords(String server, JsonNode step) throws Exception {
        TopicPartition of = new TopicPartition(step.get("topic").asText(), step.get("partition").asInt());
        admin(server).deleteRecords(Map.of(of, RecordsToDelete.beforeOffset(step.get("before").asLong()))).all().get();
    }

    // As a consumer does that read so far and left.
    private static void commit(String server, JsonNode step) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
        for (JsonNode at : step.get("offsets")) {
            Optional<Integer> epoch = at.size() > 3 ? Optional.of(at.get(3).asInt()) : Optional.empty();
            offsets.put(new TopicPartition(at.get(0).asText(), at.get(1).asInt()), new OffsetAndMetadata(at.get(2).asLong(), epoch, ""));
        }
        Properties properties = client(server);
        properties.put("group.id", step.get("group").asText());
        properties.put("enable.auto.commit", "false");
        try (var consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            if (step.get("subscribed").asBoolean()) {
                consumer.subscribe(offsets.keySet().stream().map(TopicPartition::topic).distinct().toList());
                while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(50));
            }
            consumer.commitSync(offsets);
        }
    }

    // A member that polls until it is told to leave.
    private static final class Member {
        final KafkaConsumer<byte[], byte[]> consumer;
        final Thread thread;

        Member(Properties properties, List<String> topics) throws InterruptedException {
            consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            CountDownLatch joined = new CountDownLatch(1);
            thread = new Thread(() -> {
                try (consumer) {
                    consumer.subscribe(topics, new ConsumerRebalanceListener() {
                        @Override
                        public void onPartitionsRevoked(java.util.Collection<TopicPartition> partitions) {}

                        @Override
                        public void onPartitionsAssigned(java.util.Collection<TopicPartition> partitions) {
                            joined.countDown();
                        }
                    });
                    long committed = 0;
                    while (true) {
                        consumer.poll(Duration.ofMillis(100));
                        if (committed++ % 5 == 0) consumer.commitSync();
                    }
                } catch (WakeupException e) {
                    // leave() was called
                }
            });
            thread.setDaemon(true);
            thread.start();
            if (!joined.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("no assignment after 60 s");
            Thread.sleep(700);  // what there was to read is read and committed
        }

        void leave() throws InterruptedException {
            consumer.wakeup();
            thread.join(10_000);
        }
    }

    private static void member(String server, JsonNode step) throws Exception {
        Properties properties = client(server);
        String group = step.get("group").asText();
        properties.put("group.id", group);
        properties.put("client.id", step.get("client").asText());
        properties.put("group.protocol", step.get("protocol").asText());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        if (step.has("instance")) properties.put("group.instance.id", step.get("instance").asText());
        List<String> topics = new ArrayList<>();
        for (JsonNode topic : step.get("topics")) topics.add(topic.asText());
        MEMBERS.put(server + " " + group, new Member(properties, topics));
    }

    // Leaves a transaction open, with the records given; without any, the id has only its producer id.
    private static void transaction(String server, JsonNode step) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer(server, step.get("transactional_id").asText());
        producer.initTransactions();
        if (step.get("records").isEmpty()) return;
        producer.beginTransaction();
        send(producer, step);
    }
}
