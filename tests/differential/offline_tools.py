"""What the offline tools leave behind is a directory that Apache Kafka 4.4.0 starts on, with the records that it must have.

Kafka makes a directory; on the stopped one Cordwood's tools make indexes anew, begin segments, compact, apply retention and import a
topic; then Kafka reads everything. Needs confluent-kafka.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

import harness  # noqa: E402
from harness import check, check_equal  # noqa: E402

SMALL = {"segment.bytes": "1048576", "index.interval.bytes": "512"}
TOPICS = {
    "plain": SMALL,
    "compacted": {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.9"},
    "old": {**SMALL, "retention.ms": "3600000"}}
COUNT = 6000
OLD = 1_600_000_000_000


def tool(*words, code=0):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, check=False)
    check_equal(done.returncode, code, f"cordwood {' '.join(words)}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return done.stdout


def watermarks(consumer, topic, seconds=60):
    """Waits until the partition has a leader."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise harness.TestFailure(f"{topic}: {error}") from error
            time.sleep(0.2)


def read_all(address, topic):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0})
    low, high = watermarks(consumer, topic)
    consumer.assign([TopicPartition(topic, 0, low)])
    records = []
    while low < high and (not records or records[-1][0] + 1 < high):
        message = consumer.poll(60)
        # The last batch may end with offsets whose records are gone: of a cleaned log, or of an extract.
        if message is not None and message.error() and message.error().code() == KafkaError._PARTITION_EOF:
            break
        check(message is not None and not message.error(), f"{topic}: no record at {len(records)} of {low} to {high}")
        records.append((message.offset(), message.key(), message.value()))
    consumer.close()
    return low, records


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        # The cleaner and retention are the tools' to do.
        settings = {"log.cleaner.enable": "false", "log.initial.task.delay.ms": "3600000",
                    "log.retention.check.interval.ms": "3600000"}
        with harness.Kafka(folder, overrides=settings).format() as kafka:
            kafka.start()
            admin = AdminClient({"bootstrap.servers": kafka.address()})
            for future in admin.create_topics([NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]).values():
                future.result()
            producer = Producer({"bootstrap.servers": kafka.address(), "linger.ms": 5, "batch.size": 4096})
            for i in range(COUNT):
                for topic in TOPICS:
                    stamp = {"timestamp": OLD + i} if topic == "old" else {}
                    producer.produce(topic, key=f"k{i % 50}", value=f"{topic} {i} ".encode() + b"x" * 400, **stamp)
                producer.poll(0)
            producer.flush()
            before = {topic: read_all(kafka.address(), topic)[1] for topic in TOPICS}
            # They would look for their broker for the rest of the test.
            del producer, admin
            check_equal(kafka.stop(), 143, "Kafka's exit code")

        check(tool("explain", "retention", data, "old").count("  goes  ") >= 2, "retention explains nothing")
        tool("reindex", data)
        tool("roll", data, "compacted", "plain")
        compacted = json.loads(tool("compact", data, "compacted", "--json", "--force"))
        check(compacted["cleaned"], f"not compacted: {compacted}")
        check(tool("retain", data, "old") != "", "retention took nothing")
        extract = os.path.join(folder, "extract")
        tool("find", data, "plain", "--format", "segment", "--to", extract, "--key-matches", "^k7$")
        imported = os.path.join(folder, "imported-0")
        shutil.move(os.path.join(extract, "plain-0"), imported)
        os.remove(os.path.join(imported, "partition.metadata"))
        tool("import", data, imported)
        tool("backup", data, os.path.join(folder, "backup"))
        tool("backup", "--verify", os.path.join(folder, "backup"))

        with harness.Kafka(folder, overrides=settings, name="kafka-again") as kafka:
            kafka.start()
            low, records = read_all(kafka.address(), "plain")
            check_equal((low, records), (0, before["plain"]), "plain")
            _, records = read_all(kafka.address(), "compacted")
            last = {key: (offset, key, value) for offset, key, value in before["compacted"]}
            check_equal({key: (offset, key, value) for offset, key, value in records}, last, "compacted: last values")
            check(len(records) < COUNT / 2, f"compacted: {len(records)} records are left")
            low, records = read_all(kafka.address(), "old")
            check(low > 0, "old: nothing was removed")
            check_equal(records, before["old"][low:], "old: what is left")
            _, records = read_all(kafka.address(), "imported")
            check_equal(records, [record for record in before["plain"] if record[1] == b"k7"], "imported")
            check_equal(kafka.stop(), 143, "Kafka's exit code")


if __name__ == "__main__":
    harness.run(main)
