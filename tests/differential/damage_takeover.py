"""Apache Kafka 4.4.0 on a directory in which Cordwood has kept damage: it starts, serves the same records, leaves damaged/ alone
through clean and unclean stops, and removes it with the topic. Needs confluent-kafka.
"""
import glob
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from confluent_kafka import Producer  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

import harness  # noqa: E402
import takeover  # noqa: E402
from harness import check, check_equal  # noqa: E402

TOPIC = "hurt"


def produce(broker, first, count):
    """Records of 10 KB, one a batch."""
    producer = Producer({"bootstrap.servers": broker.address(), "linger.ms": 0, "batch.num.messages": 1})
    for i in range(first, first + count):
        producer.produce(TOPIC, key=b"%d" % i, value=b"%d " % i + b"." * 10_000, partition=0)
        producer.poll(0)
    check_equal(producer.flush(60), 0, "records left in the producer")


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 1]))


def kept(partition_directory):
    """Every file below damaged/ with the hash of its bytes."""
    files = {}
    for path in glob.glob(os.path.join(partition_directory, "damaged", "**", "*"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                files[os.path.relpath(path, partition_directory)] = hashlib.sha256(f.read()).hexdigest()
    return files


def main():
    with harness.workspace("damage-takeover") as folder:
        with harness.Cordwood(folder) as cordwood, harness.Kafka(folder) as kafka:
            cordwood.start()
            admin = AdminClient({"bootstrap.servers": cordwood.address()})
            admin.create_topics([NewTopic(TOPIC, 1, 1, config={"segment.bytes": "1048576"})])[TOPIC].result()
            produce(cordwood, 0, 350)
            whole = takeover.read_all(cordwood, TOPIC, 0)
            check_equal(len(whole), 350, "records before the damage")
            directory = os.path.join(cordwood.dirs[0], f"{TOPIC}-0")
            cordwood.kill()
            logs = sorted(glob.glob(os.path.join(directory, "*.log")))
            check(len(logs) >= 4, f"there are several segments: {logs}")
            flip(logs[1], 300_000)

            cordwood.start()
            served = takeover.read_all(cordwood, TOPIC, 0)
            check(100 < len(served) < 200, f"{len(served)} records lie before the damage")
            check_equal(served, whole[:len(served)], "records before the damage")
            before = kept(directory)
            for log in logs[2:]:
                check(f"damaged/cut-000001/{os.path.basename(log)}" in before, f"{log} is kept: {sorted(before)}")
            check("damaged/cut-000001/report.txt" in before, "there is a report")
            print(open(os.path.join(directory, "damaged/cut-000001/report.txt"), encoding="utf-8").read())
            produce(cordwood, len(served), 5)
            served = takeover.read_all(cordwood, TOPIC, 0)
            check_equal(cordwood.stop(), 0, "exit code")

            kafka.start()
            check_equal(takeover.read_all(kafka, TOPIC, 0), served, "records that Kafka serves")
            produce(kafka, len(served), 5)
            check_equal(kept(directory), before, "damaged/ while Kafka runs")
            served = takeover.read_all(kafka, TOPIC, 0)
            kafka.kill()
            kafka.start()
            check_equal(takeover.read_all(kafka, TOPIC, 0), served, "records after Kafka was killed")
            check_equal(kept(directory), before, "damaged/ after Kafka was killed")
            kafka.stop()

            cordwood.start()
            check_equal(takeover.read_all(cordwood, TOPIC, 0), served, "records in Cordwood again")
            check_equal(kept(directory), before, "damaged/ in the end")
            check_equal(cordwood.stop(), 0, "exit code")

            kafka.start()
            admin = AdminClient({"bootstrap.servers": kafka.address()})
            admin.delete_topics([TOPIC])[TOPIC].result()
            deadline = time.monotonic() + 120
            while glob.glob(os.path.join(cordwood.dirs[0], f"{TOPIC}-0*")):
                check(time.monotonic() < deadline, "Kafka deletes the directory of the topic with what is in it")
                time.sleep(1)
            kafka.stop()
    print("Kafka serves what Cordwood left, does not touch damaged/, and deletes it with the topic")


if __name__ == "__main__":
    harness.run(main)
