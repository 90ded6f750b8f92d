"""One data directory, ten turns: Cordwood and Apache Kafka 4.4.0 take it from each other, under load.

Idempotent producers of every codec, and a group that commits, live through all turns (both brokers listen at the same port), while
retention and the cleaner work in every turn. Mostly a turn ends with a clean stop, in some with kill -9, always in the middle
of producing. Whoever comes next must have all that was acknowledged, and nothing else: records from the log start on, at their
offsets, once and in order; of compacted topics the last value of every key; committed offsets; configs; topics.
Needs confluent-kafka. CORDWOOD_SWAP_TURNS and CORDWOOD_SEED choose another run.
"""
import collections
import functools
import hashlib
import logging
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from confluent_kafka import (Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer,  # noqa: E402
                             TopicPartition)  # noqa: E402
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic,  # noqa: E402
                                   ResourceType)  # noqa: E402

import harness  # noqa: E402
from harness import check, check_equal  # noqa: E402

TURNS = int(os.environ.get("CORDWOOD_SWAP_TURNS", "10"))
KILLED = {2, 5, 7, 8}  # of both kinds
LOAD_SECONDS = 3.0
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
GROUP = "walkers"
PARTITIONS = 2
DELETE, COMPACT, BOTH = "deleted", "compacted", "both"
SMALL = {"segment.bytes": "1048576", "segment.ms": "1500", "file.delete.delay.ms": "500"}
CLEANED = {"min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "2000"}
TOPICS = {
    DELETE: {**SMALL, "cleanup.policy": "delete", "retention.bytes": "3000000"},
    COMPACT: {**SMALL, **CLEANED, "cleanup.policy": "compact"},
    BOTH: {**SMALL, **CLEANED, "cleanup.policy": "compact,delete", "retention.bytes": "1500000"}}
SETTINGS = {
    "log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "300", "log.cleaner.backoff.ms": "200",
    "offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "1048576", "log.segment.delete.delay.ms": "500",
    "group.initial.rebalance.delay.ms": "0", "log.cleaner.dedupe.buffer.size": "16000000",
    "log.flush.offset.checkpoint.interval.ms": "1000"}


class Known:
    """Of one partition: every record that was acknowledged, by its offset."""

    def __init__(self):
        self.records = {}  # offset -> what identify() gives
        self.read_from = 0


def identify(key, value, timestamp, headers):
    """What a record is known by; the value of a tombstone is None."""
    return key, value and hashlib.blake2b(value, digest_size=12).digest(), timestamp, headers


class LastWords(logging.Handler):
    """The newest of what a producer says of its connections, its metadata and its sequence numbers: for the case that it hangs."""

    def __init__(self):
        super().__init__()
        self.lines = collections.deque(maxlen=150)

    def emit(self, record):
        self.lines.append(f"{time.time():.3f} {record.getMessage()}")


class Load:
    """Producers that write for as long as they live, whoever answers them."""

    def __init__(self, address, chance):
        self.known = {(topic, p): Known() for topic in TOPICS for p in range(PARTITIONS)}
        self.failure = None
        self.chance = chance
        self.filler = chance.randbytes(1 << 20)
        self.may_write = threading.Event()
        self.ended = False
        self.last_words = {codec: LastWords() for codec in CODECS}
        self.producers = {codec: Producer({
            "bootstrap.servers": address, "compression.type": codec, "enable.idempotence": True, "linger.ms": 10,
            "batch.size": 40000, "message.timeout.ms": 300000, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 20, "queue.buffering.max.messages": 300,
            # Apache Kafka, while it stops, may answer Metadata with no broker at all. librdkafka then drops its last one and asks
            # nobody any more, until this time is over (seen with 2.16.0; by itself that is five minutes).
            "metadata.recovery.rebootstrap.trigger.ms": 3000, "debug": "eos,topic,metadata,broker"},
            logger=self._logger(codec)) for codec in CODECS}
        self.counts = dict.fromkeys(CODECS, 0)
        self.threads = [threading.Thread(target=self._write, args=(codec, random.Random(chance.random()))) for codec in CODECS]
        for thread in self.threads:
            thread.start()

    def _logger(self, codec):
        logger = logging.Logger(f"producer of {codec}", logging.DEBUG)
        logger.addHandler(self.last_words[codec])
        return logger

    def _write(self, codec, chance):
        producer = self.producers[codec]
        while not self.ended:
            if not self.may_write.is_set():
                producer.poll(0.05)
                continue
            number = self.counts[codec]
            topic = chance.choice([DELETE, DELETE, COMPACT, BOTH])
            partition = chance.randrange(PARTITIONS)
            key = b"%s-%d" % (codec.encode(), chance.randrange(150))
            value = None
            if topic == DELETE or chance.random() > 0.02:
                at = chance.randrange(len(self.filler) - 3000)
                value = b"%s %d " % (codec.encode(), number) + self.filler[at:at + chance.randrange(100, 2500)]
            try:
                timestamp, headers = int(time.time() * 1000), [("n", b"%d" % number)]
                record = identify(key, value, timestamp, headers)
                producer.produce(topic, key=key, value=value, partition=partition, timestamp=timestamp, headers=headers,
                                 on_delivery=functools.partial(self._delivered, record))
                self.counts[codec] += 1
            except BufferError:
                producer.poll(0.02)
            producer.poll(0)
            time.sleep(0.001)

    def _delivered(self, record, error, message):
        if error is not None:
            self.failure = self.failure or f"a record of {message.topic()}-{message.partition()} failed: {error}"
            return
        known = self.known[(message.topic(), message.partition())].records
        if message.offset() in known:
            self.failure = self.failure or f"{message.topic()}-{message.partition()}: offset {message.offset()} twice"
        known[message.offset()] = record

    def settle(self, who):
        """Nothing is on its way any more: all that was sent is acknowledged."""
        self.may_write.clear()
        deadline = time.monotonic() + 90
        for producer in self.producers.values():
            producer.flush(max(0.1, deadline - time.monotonic()))
        left = {codec: len(producer) for codec, producer in self.producers.items() if len(producer) > 0}
        for codec in left:
            print(f"{who}: the last words of the producer of {codec}:", *self.last_words[codec].lines, sep="\n  ")
        check(not left, f"{who}: records left in the producers: {left} ({self.failure})")
        check(self.failure is None, f"{who}: {self.failure}")

    def acknowledged(self):
        return sum(len(k.records) for k in self.known.values())

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()


def read(broker, topic, partition):
    """The log start, the end, and offset -> record of all that lies between."""
    consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": "reader", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True, "auto.offset.reset": "error", "fetch.wait.max.ms": 20,
                         "log_level": 0})
    try:
        for _ in range(20):
            start, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
            consumer.assign([TopicPartition(topic, partition, start)])
            found, out_of_range = {}, False
            deadline = time.monotonic() + 60
            reached_end = False
            while not reached_end and not out_of_range:
                check(time.monotonic() < deadline, f"reading {topic}-{partition} stalled behind {len(found)} records")
                for message in consumer.consume(5000, 0.2):
                    if message.error() is None:
                        check(message.offset() not in found, f"{topic}-{partition}: offset {message.offset()} is given twice")
                        check(not found or message.offset() > next(reversed(found)), f"{topic}-{partition}: offsets go back")
                        found[message.offset()] = identify(message.key(), message.value(), message.timestamp()[1],
                                                             message.headers())
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        reached_end = True
                    elif message.error().code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                        out_of_range = True  # retention was faster
                    else:
                        raise KafkaException(message.error())
            if not out_of_range:
                return start, end, found
        raise harness.TestFailure(f"{topic}-{partition}: the log start runs away from its reader")
    finally:
        consumer.close()


def check_records(broker, load, who):
    """How many records each topic still has."""
    held = dict.fromkeys(TOPICS, 0)
    for (topic, partition), known in load.known.items():
        start, end, found = read(broker, topic, partition)
        held[topic] += len(found)
        name = f"{who}: {topic}-{partition}"
        check(start >= known.read_from, f"{name}: the log start went back from {known.read_from} to {start}")
        known.read_from = start
        if known.records:
            check_equal(end, max(known.records) + 1, f"{name}: log end")
        for offset, record in found.items():
            check(offset in known.records, f"{name}: nobody was told of the record at {offset}")
            check_equal(record, known.records[offset], f"{name}: the record at {offset}")
        if topic == DELETE:
            check(start == 0 or found, f"{name}: empty from {start} on")
            check_equal(len(found), end - start, f"{name}: records between {start} and {end}")
            continue
        last = {}
        for offset, (key, value, _, _) in sorted(known.records.items()):
            last[key] = (offset, value)
        for key, (offset, value) in last.items():
            check(offset in found or value is None or offset < start, f"{name}: the last value of {key}, at {offset}, is lost")
        if topic == COMPACT:
            check_equal(start, 0, f"{name}: log start of a topic that is only compacted")
    return held


class Group:
    """A member that walks through all topics and commits; what was committed is never behind what the next one is told."""

    def __init__(self):
        self.committed = {}  # (topic, partition) -> offset
        self.consumer = None

    def join(self, broker):
        self.consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": GROUP, "enable.auto.commit": False,
                                  "auto.offset.reset": "earliest", "session.timeout.ms": 6000, "log_level": 0})
        self.consumer.subscribe(list(TOPICS))

    def walk(self, seconds):
        commits, walked, committed_before = 0, set(), dict(self.committed)
        deadline = time.monotonic() + seconds
        give_up = deadline + 30
        while time.monotonic() < deadline or commits == 0:
            check(time.monotonic() < give_up, "the group commits nothing")
            positions = {}
            for message in self.consumer.consume(1000, 0.2):
                if message.error() is None:
                    at = (message.topic(), message.partition())
                    if at not in walked:
                        check(message.offset() >= committed_before.get(at, 0), f"{at} is walked from {message.offset()} on again")
                    walked.add(at)
                    positions[at] = message.offset() + 1
            if not positions:
                continue
            self.consumer.commit(offsets=[TopicPartition(t, p, o, metadata=f"at {o}") for (t, p), o in positions.items()],
                                 asynchronous=False)
            commits += 1
            self.committed.update(positions)
        return commits

    def leave(self):
        self.consumer.close()
        self.consumer = None

    def check(self, broker, who):
        admin = AdminClient({"bootstrap.servers": broker.address(), "log_level": 0})
        for attempt in range(100):
            try:
                future = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)], require_stable=True)[GROUP]
                found = future.result().topic_partitions
                break
            except KafkaException as failure:
                # Right after its start the coordinator may still answer 14, 15 or 16.
                if attempt == 99 or failure.args[0].code() not in (14, 15, 16):
                    raise
                time.sleep(0.1)
        check_equal({(t.topic, t.partition): t.offset for t in found}, self.committed, f"{who}: committed offsets")
        check_equal({(t.topic, t.partition): t.metadata for t in found}, {at: f"at {o}" for at, o in self.committed.items()},
                    f"{who}: metadata of the committed offsets")


class Topics:
    """Configs that change in every turn, and small topics that one broker makes and the other one deletes."""

    def __init__(self):
        self.configs = {name: dict(configs) for name, configs in TOPICS.items()}

    def check(self, admin, who):
        listed = {name for name in admin.list_topics(timeout=30).topics if not name.startswith("__")}
        check_equal(listed, set(self.configs), f"{who}: topics")
        for resource, future in admin.describe_configs([ConfigResource(ResourceType.TOPIC, n) for n in self.configs]).items():
            entries = future.result()
            for key, value in self.configs[resource.name].items():
                check_equal(entries[key].value, value, f"{who}: {key} of {resource.name}")

    def change(self, admin, turn):
        value = str(100_000_000 + turn)
        changes = [ConfigResource(ResourceType.TOPIC, name, incremental_configs=[
            ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)]) for name in TOPICS]
        for future in admin.incremental_alter_configs(changes).values():
            future.result()
        for name in TOPICS:
            self.configs[name]["retention.ms"] = value
        # Two turns ago it was this broker that made one, so the other one's is deleted.
        gone = f"turn-{turn - 1}"
        if gone in self.configs:
            admin.delete_topics([gone])[gone].result()
            del self.configs[gone]
        fresh = f"turn-{turn}"
        self.configs[fresh] = {"max.message.bytes": str(1_000_000 + turn)}
        admin.create_topics([NewTopic(fresh, 2, 1, config=self.configs[fresh])])[fresh].result()


def cleaned_offsets(directory):
    """Partition -> first dirty offset, as the cleaner's checkpoint file says."""
    path = os.path.join(directory, "cleaner-offset-checkpoint")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="ascii") as f:
        return {(m[1], int(m[2])): int(m[3]) for m in re.finditer(r"^(\S+) (\d+) (\d+)$", f.read(), re.M)}


COMPLAINTS = re.compile(r"stray|truncat|corrupt|index file|damage|cannot be|goes offline", re.I)


def complaints(text):
    return [line for line in text.splitlines() if re.search(r"\b(WARN|ERROR|FATAL)\b", line, re.I) and COMPLAINTS.search(line)]


def take_turn(turn, broker, directory, load, group, topics, was_killed):
    who = f"turn {turn}, {type(broker).__name__}"
    said_before = len(broker.output()) if os.path.exists(broker.log) else 0
    starts = {at: known.read_from for at, known in load.known.items()}
    cleaned = cleaned_offsets(directory)
    began = time.monotonic()
    broker.start()
    started = time.monotonic()
    admin = AdminClient({"bootstrap.servers": broker.address(), "log_level": 0})
    if turn == 0:
        for future in admin.create_topics([NewTopic(n, PARTITIONS, 1, config=c) for n, c in TOPICS.items()]).values():
            future.result()
    load.settle(who)
    held = check_records(broker, load, who)
    topics.check(admin, who)
    if turn > 0:
        group.check(broker, who)
    checked = time.monotonic()

    before = load.acknowledged()
    load.may_write.set()
    topics.change(admin, turn)
    group.join(broker)
    commits = group.walk(LOAD_SECONDS)
    # What retention and cleaner have done in this turn. Which log is cleaned first is the cleaner's own affair.
    deadline = time.monotonic() + 60
    while True:
        moved = [at for at in starts if at[0] == DELETE and
                 read_start(broker, *at) > starts[at]]
        further = [at for at, offset in cleaned_offsets(directory).items()
                   if at[0] in (COMPACT, BOTH) and offset > cleaned.get(at, 0)]
        if moved and further:
            break
        check(time.monotonic() < deadline, f"{who}: retention moved {moved}, the cleaner worked on {further}")
        time.sleep(0.1)
    check(load.acknowledged() > before, f"{who}: nothing was acknowledged ({load.failure})")
    if turn in KILLED:
        broker.kill()
        # Nobody is told of the member; it is gone with the broker.
        group.leave()
    else:
        group.leave()
        code = broker.stop()
        check(code in (0, 143), f"{who}: exit code {code}")
    said = broker.output()[said_before:]
    if not was_killed:
        check_equal(complaints(said), [], f"{who}: what it says of files that were left cleanly")
    print(f"{who}: start {started - began:.1f} s, check {checked - started:.1f} s, {load.acknowledged() - before} records, "
          f"{commits} commits; held at its start {held}; retention moved {len(moved)}, cleaner {len(further)}"
          f"{', killed' if turn in KILLED else ''}", flush=True)


def read_start(broker, topic, partition):
    consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": "reader", "log_level": 0})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[0]
    finally:
        consumer.close()


def main():
    seed = int(os.environ.get("CORDWOOD_SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    port = harness.free_port()
    with harness.workspace("swap") as folder, harness.Cordwood(folder, overrides=SETTINGS, port=port) as cordwood, \
            harness.Kafka(folder, overrides=SETTINGS) as kafka:
        kafka.port = port
        load = Load(f"127.0.0.1:{port}", random.Random(seed))
        group, topics = Group(), Topics()
        try:
            for turn in range(TURNS):
                take_turn(turn, (cordwood, kafka)[turn % 2], cordwood.dirs[0], load, group, topics, turn - 1 in KILLED)
            for turn, broker in ((TURNS, kafka), (TURNS + 1, cordwood)):
                who = f"at the end, {type(broker).__name__}"
                broker.start()
                load.settle(who)
                check_records(broker, load, who)
                topics.check(AdminClient({"bootstrap.servers": broker.address(), "log_level": 0}), who)
                group.check(broker, who)
                check(broker.stop() in (0, 143), f"{who}: exit code")
        finally:
            load.end()
        print(f"{TURNS} turns, {load.acknowledged()} records acknowledged")


if __name__ == "__main__":
    harness.run(main)
