#!/usr/bin/env python3
"""How a broker with many partitions behaves: bench/scale.py [--partitions N] [--folder DIR] [--kafka]

  create   topics of 1,000 partitions each, one request after the other
  write    one record into each partition, sixteen requests in flight
  start    after a clean stop, and after kill -9 once every partition was written: from exec to the ready line
  memory   resident, per partition: after a clean start (idle), and after each was written
  held     descriptors and mappings at those times

With --kafka Apache Kafka 4.4.0 does the same (with 1,000 partitions unless told otherwise: it is slow). Build first:
`cmake --preset bench && ninja -C build/bench cordwood`, or set CORDWOOD_BINARY. The folder should be on a disk.
"""
import argparse
import os
import struct
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
import wire  # noqa: E402
from harness import Cordwood, Kafka  # noqa: E402

PER_TOPIC = 1_000


def resident(broker):
    with open(f"/proc/{broker.process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def held(broker):
    with open(f"/proc/{broker.process.pid}/maps", encoding="utf-8") as maps:
        mappings = sum(1 for line in maps if ".index" in line or ".timeindex" in line)
    return len(os.listdir(f"/proc/{broker.process.pid}/fd")), mappings


def show(what, value, unit, note=""):
    print(f"  {what:<34} {value:>12,.2f} {unit:<6} {note}", flush=True)


def timed(action):
    began = time.monotonic()
    result = action()
    return time.monotonic() - began, result


def create(broker, partitions):
    with wire.Connection(broker.port) as connection:
        first, _ = timed(lambda: wire.create_topic(connection, "scale-0", min(PER_TOPIC, partitions)))
        rest, _ = timed(lambda: [wire.create_topic(connection, f"scale-{i}", PER_TOPIC)
                                 for i in range(1, partitions // PER_TOPIC)])
    show("create the first 1,000", first, "s")
    if partitions > PER_TOPIC:
        show("create the others", rest, "s", f"{rest * PER_TOPIC / (partitions - PER_TOPIC):.2f} s per 1,000")


def write(broker, partitions):
    records = wire.batch([(b"key", b"a value")])
    names = [(f"scale-{i // PER_TOPIC}", i % PER_TOPIC) for i in range(partitions)]
    with wire.Connection(broker.port) as connection:
        def all_of_them():
            for first in range(0, partitions, 16):
                some = names[first:first + 16]
                for topic, partition in some:
                    connection.send(wire.request(0, 7, wire.produce_body(topic, partition, records)))
                for topic, partition in some:
                    answer = connection.receive()[1]
                    at = 4 + 2 + len(topic) + 4 + 4
                    code = struct.unpack(">h", answer[at:at + 2])[0]
                    assert code == 0, f"{topic}-{partition}: {code}"
        took, _ = timed(all_of_them)
    show("write one record into each", took, "s")


def report(what, broker, base, partitions):
    show(f"resident {what}", resident(broker) / 1e6, "MB", f"{(resident(broker) - base) / partitions:,.0f} bytes a partition")
    descriptors, mappings = held(broker)
    show(f"descriptors {what}", descriptors, "", f"{mappings} mappings of index files")


def measure(name, make, partitions):
    print(f"\n{name}, {partitions:,} partitions")
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder:
        broker = make(folder)
        broker.start()
        base = resident(broker)
        create(broker, partitions)
        report("after creation", broker, base, partitions)
        took, _ = timed(lambda: broker.stop(300))
        show("stop", took, "s")
        took, _ = timed(lambda: broker.start(600))
        show("start after a clean stop", took, "s")
        report("idle", broker, base, partitions)
        write(broker, partitions)
        report("after the writes", broker, base, partitions)
        broker.kill()
        took, _ = timed(lambda: broker.start(600))
        show("start after a kill", took, "s")
        report("after that", broker, base, partitions)
        took, _ = timed(lambda: broker.stop(300))
        show("stop", took, "s")


def kafka(folder):
    broker = Kafka(folder)
    broker.format()
    return broker


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--folder")
    parser.add_argument("--kafka", action="store_true")
    ARGUMENTS = parser.parse_args()
    os.environ.setdefault("CORDWOOD_BINARY", os.path.join(ROOT, "build/bench/cordwood"))
    measure("Cordwood", Cordwood, ARGUMENTS.partitions)
    if ARGUMENTS.kafka:
        measure("Apache Kafka", kafka, ARGUMENTS.partitions)
