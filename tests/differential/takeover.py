"""The directory changes hands: Cordwood -> Apache Kafka 4.4.0 -> Cordwood -> Kafka, and Kafka -> Cordwood -> Kafka.

After each change the same topics (same ids), configs, records and committed offsets must be served, new ones can be made,
and Kafka's own dump tool has no complaint about any file that Cordwood wrote. Needs confluent-kafka.
"""
import glob
import hashlib
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from confluent_kafka import (Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer,  # noqa: E402
                             TopicPartition)  # noqa: E402
from confluent_kafka import TopicCollection  # noqa: E402
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType  # noqa: E402

import harness  # noqa: E402
from harness import check, check_equal  # noqa: E402

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class World:
    """What was put in, whichever broker took it."""

    def __init__(self):
        self.topics = {}   # name -> partitions
        self.configs = {}  # name -> {key: value}
        self.records = {}  # (name, partition) -> [(key, value)]
        self.offsets = {}  # group -> {(topic, partition): offset}
        self.ids = {}      # name -> topic id

    def add(self, broker, label, transactional=False):
        admin = AdminClient({"bootstrap.servers": broker.address()})
        wanted = {
            f"{label}-plain": (3, {"retention.ms": "-1", "segment.bytes": "1048576"}),
            f"{label}-compact": (1, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.25"}),
            f"{label}.empty": (2, {})}
        for future in admin.create_topics([NewTopic(n, p, 1, config=c) for n, (p, c) in wanted.items()]).values():
            future.result()
        for name, (partitions, configs) in wanted.items():
            self.topics[name] = partitions
            self.configs[name] = configs
        for codec in CODECS:
            producer = Producer({"bootstrap.servers": broker.address(), "compression.type": codec, "linger.ms": 20,
                                 "enable.idempotence": codec != "none"})
            for i in range(120):
                for name, count in ((f"{label}-plain", 3), (f"{label}-compact", 1)):
                    key, value = b"%d" % (i % 40), b"%s %s %d " % (label.encode(), codec.encode(), i) + b"." * (i * 7)
                    producer.produce(name, key=key, value=value, partition=i % count)
                    self.records.setdefault((name, i % count), []).append((key, value))
            check_equal(producer.flush(30), 0, "records left in the producer")
        group = f"group-{label}"
        consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": group, "enable.auto.commit": False})
        self.offsets[group] = {(f"{label}-plain", p): 10 + p for p in range(3)}
        wanted_offsets = [TopicPartition(t, p, o, metadata="m") for (t, p), o in self.offsets[group].items()]
        for attempt in range(50):
            try:
                consumer.commit(offsets=wanted_offsets, asynchronous=False)
                break
            except KafkaException as failure:
                # Right after its topic was made, Kafka's coordinator may still answer 14, 15 or 16.
                if attempt == 49 or failure.args[0].code() not in (14, 15, 16):
                    raise
                time.sleep(0.2)
        consumer.close()
        self.read_ids(broker)

    def more(self, broker, label):
        """Appends to what is there already."""
        producer = Producer({"bootstrap.servers": broker.address(), "enable.idempotence": True})
        for (name, partition), known in sorted(self.records.items()):
            for i in range(10):
                key, value = b"again", b"%s %d" % (label.encode(), i)
                producer.produce(name, key=key, value=value, partition=partition)
                known.append((key, value))
        check_equal(producer.flush(30), 0, "records left in the producer")

    def describe(self, broker):
        admin = AdminClient({"bootstrap.servers": broker.address()})
        found = admin.describe_topics(TopicCollection(sorted(self.topics)))
        return {name: future.result() for name, future in found.items()}

    def read_ids(self, broker):
        for name, topic in self.describe(broker).items():
            self.ids.setdefault(name, str(topic.topic_id))

    def verify(self, broker, who):
        admin = AdminClient({"bootstrap.servers": broker.address()})
        listed = set(admin.list_topics(timeout=30).topics)
        check(set(self.topics) <= listed, f"{who} does not list {set(self.topics) - listed}")
        for name, topic in self.describe(broker).items():
            check_equal(str(topic.topic_id), self.ids[name], f"{who}: id of {name}")
            check_equal(len(topic.partitions), self.topics[name], f"{who}: partitions of {name}")
            for partition in topic.partitions:
                check(partition.leader is not None and partition.leader.id == 1, f"{who}: {name}-{partition.id} has no leader")
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in self.topics]
        for resource, future in admin.describe_configs(resources).items():
            entries = future.result()
            for key, value in self.configs[resource.name].items():
                check_equal(entries[key].value, value, f"{who}: {key} of {resource.name}")
        for (name, partition), expected in sorted(self.records.items()):
            got = read_all(broker, name, partition)
            check_equal(len(got), len(expected), f"{who}: number of records in {name}-{partition}")
            check_equal(digest(got), digest(expected), f"{who}: records of {name}-{partition}")
        for group, offsets in self.offsets.items():
            future = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
            got = {(t.topic, t.partition): t.offset for t in future.result().topic_partitions}
            check_equal(got, offsets, f"{who}: offsets of {group}")


def digest(records):
    h = hashlib.sha256()
    for key, value in records:
        h.update(b"%d %d " % (len(key), len(value)) + key + value)
    return h.hexdigest()


def read_all(broker, topic, partition):
    consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": "reader", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(topic, partition, 0)])
    out = []
    while True:
        message = consumer.poll(30)
        check(message is not None, f"reading {topic}-{partition} stalled at {len(out)}")
        if message.error():
            check_equal(message.error().code(), KafkaError._PARTITION_EOF, f"reading {topic}-{partition}")
            break
        check_equal(message.offset(), len(out), f"offset in {topic}-{partition}")
        out.append((message.key(), message.value()))
    consumer.close()
    return out


COMPLAINTS = re.compile(r"[Mm]ismatch|not found|Indexed offset|nonconsecutive|Non-consecutive|isvalid: false|Exception|corrupt", re.I)


def dump_everything(directory):
    """Kafka's dump tool over every file of a cleanly stopped directory."""
    files = [f for suffix in ("log", "index", "timeindex", "snapshot", "txnindex")
             for f in glob.glob(os.path.join(directory, "*", f"*.{suffix}"))]
    metadata = [f for f in files if "__cluster_metadata" in f]
    data = sorted(set(files) - set(metadata))
    check(data and metadata, "there is something to dump")
    for start in range(0, len(data), 200):
        out, err = harness.dump_log(data[start:start + 200], "--deep-iteration", "--print-data-log")
        bad = [line for line in (out + err).splitlines() if COMPLAINTS.search(re.sub(r"(payload|key): .*", "", line))]
        check(not bad and not err.strip(), f"the dump tool complains: {bad[:5]} {err[:500]}")
    for file in data:
        if file.endswith(("index",)) and os.path.getsize(file) > 0:
            out, err = harness.dump_log([file], "--index-sanity-check")
            check("passed sanity check" in out and not err.strip(), f"{file}: {out[-300:]} {err[:300]}")
            break
    logs = sorted(f for f in metadata if f.endswith(".log"))
    out, err = harness.dump_log(logs, "--cluster-metadata-decoder")
    check("FEATURE_LEVEL_RECORD" in out and "isvalid: false" not in out and not err.strip(), f"metadata: {err[:500]}")
    return len(data) + len(logs)


def warnings_of(kafka):
    text = kafka.output()
    # Lines that Kafka writes at every start of a single node, on its own directories as well.
    expected = ("Performing controller activation", "unused", "[QuorumController id=1]", "No meta.properties", "advertised")
    return [line for line in text.splitlines() if re.search(r"\b(WARN|ERROR)\b", line) and ("stray" in line.lower() or
            "truncat" in line.lower() or "corrupt" in line.lower() or "index file" in line.lower())
            and not any(e in line for e in expected)]


def ours_first():
    world = World()
    with harness.workspace("ours-first") as folder:
        with harness.Cordwood(folder) as cordwood, harness.Kafka(folder) as kafka:
            cordwood.start()
            world.add(cordwood, "ours")
            world.verify(cordwood, "Cordwood")
            check_equal(cordwood.stop(), 0, "exit code")
            files = dump_everything(cordwood.dirs[0])
            print(f"dump tool: {files} files, no complaint")
            kafka.start()
            world.verify(kafka, "Kafka on Cordwood's directory")
            check_equal(warnings_of(kafka), [], "warnings of Kafka about our files")
            world.add(kafka, "theirs")
            world.more(kafka, "kafka")
            kafka.stop()
            cordwood.start()
            world.verify(cordwood, "Cordwood again")
            world.more(cordwood, "cordwood")
            world.add(cordwood, "ours2")
            cordwood.kill()
            cordwood.start()
            world.verify(cordwood, "Cordwood after a kill")
            check_equal(cordwood.stop(), 0, "exit code")
            kafka.start()
            world.verify(kafka, "Kafka again")
            check_equal(warnings_of(kafka), [], "warnings of Kafka about our files")
            kafka.stop()


def theirs_first(release):
    world = World()
    with harness.workspace("theirs-first") as folder:
        with harness.Cordwood(folder) as cordwood, harness.Kafka(folder).format(release=release) as kafka:
            kafka.start()
            world.add(kafka, "theirs")
            kafka.stop()
            cordwood.start()
            world.verify(cordwood, f"Cordwood on Kafka's directory ({release})")
            world.more(cordwood, "cordwood")
            world.add(cordwood, "ours")
            check_equal(cordwood.stop(), 0, "exit code")
            kafka.start()
            world.verify(kafka, f"Kafka again ({release})")
            world.more(kafka, "kafka")
            kafka.kill()
            cordwood.start()
            world.verify(cordwood, f"Cordwood after a killed Kafka ({release})")
            check_equal(cordwood.stop(), 0, "exit code")


def main():
    which = sys.argv[1] if len(sys.argv) > 1 else "all"
    if which in ("ours", "all"):
        ours_first()
        print("Cordwood -> Kafka -> Cordwood -> Kafka: the same topics, configs, records and offsets")
    if which in ("theirs", "all"):
        for release in ("4.4-IV2", "4.0-IV3"):
            theirs_first(release)
        print("Kafka -> Cordwood -> Kafka -> Cordwood: the same, on directories of 4.4-IV2 and 4.0-IV3")


if __name__ == "__main__":
    harness.run(main)
