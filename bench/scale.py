#!/usr/bin/env python3
"""How a broker with many partitions, or many segments, behaves: bench/scale.py [--partitions N] [--segments N] [--folder DIR] [--kafka]

  create   topics of 1,000 partitions each, one request after the other
  write    one record into each partition, sixteen requests in flight; with --segments N as many, each of them a segment
  start    after a clean stop, and after kill -9 once every partition was written: from exec to the ready line
  memory   resident, per partition: after a clean start (idle), and after each was written
  held     descriptors and mappings at those times; the kernel's limit of mappings is vm.max_map_count (65,530)

100,000 segments: --partitions 1000 --segments 100.

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
REST_S = 2  # before memory is measured: what was freed goes back to the system within a second
# No two batches fit into one segment.
ONE_BATCH_A_SEGMENT = {"internal.segment.bytes": "100", "retention.ms": "-1"}


def resident(broker):
    with open(f"/proc/{broker.process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def held(broker):
    with open(f"/proc/{broker.process.pid}/maps", encoding="utf-8") as maps:
        lines = maps.readlines()
    of_indexes = sum(1 for line in lines if ".index" in line or ".timeindex" in line)
    return len(os.listdir(f"/proc/{broker.process.pid}/fd")), len(lines), of_indexes


def show(what, value, unit, note=""):
    print(f"  {what:<34} {value:>12,.2f} {unit:<6} {note}", flush=True)


def timed(action):
    began = time.monotonic()
    result = action()
    return time.monotonic() - began, result


def create(broker, partitions):
    configs = ONE_BATCH_A_SEGMENT if ARGUMENTS.segments > 1 else {}
    with wire.Connection(broker.port) as connection:
        first, _ = timed(lambda: wire.create_topic(connection, "scale-0", min(PER_TOPIC, partitions), configs))
        rest, _ = timed(lambda: [wire.create_topic(connection, f"scale-{i}", PER_TOPIC, configs)
                                 for i in range(1, partitions // PER_TOPIC)])
    show("create the first 1,000", first, "s")
    if partitions > PER_TOPIC:
        show("create the others", rest, "s", f"{rest * PER_TOPIC / (partitions - PER_TOPIC):.2f} s per 1,000")


def write(broker, partitions):
    records = wire.batch([(b"key", b"a value")])
    names = [(f"scale-{i // PER_TOPIC}", i % PER_TOPIC) for i in range(partitions)] * ARGUMENTS.segments
    with wire.Connection(broker.port) as connection:
        def all_of_them():
            for first in range(0, len(names), 16):
                some = names[first:first + 16]
                for topic, partition in some:
                    connection.send(wire.request(0, 7, wire.produce_body(topic, partition, records)))
                for topic, partition in some:
                    answer = connection.receive()[1]
                    at = 4 + 2 + len(topic) + 4 + 4
                    code = struct.unpack(">h", answer[at:at + 2])[0]
                    assert code == 0, f"{topic}-{partition}: {code}"
        took, _ = timed(all_of_them)
    show(f"write {ARGUMENTS.segments} into each", took, "s", f"{len(names):,} records")


def report(what, broker, base, partitions):
    time.sleep(REST_S)
    show(f"resident {what}", resident(broker) / 1e6, "MB", f"{(resident(broker) - base) / partitions:,.0f} bytes a partition")
    descriptors, mappings, of_indexes = held(broker)
    show(f"descriptors {what}", descriptors, "", f"{mappings} mappings, {of_indexes} of them of index files")


def measure(name, make, partitions):
    print(f"\n{name}, {partitions:,} partitions, {partitions * ARGUMENTS.segments:,} segments")
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder:
        broker = make(folder)
        broker.start()
        time.sleep(REST_S)
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
        if ARGUMENTS.segments > 1:
            took, _ = timed(lambda: broker.stop(600))
            show("stop with all segments", took, "s")
            took, _ = timed(lambda: broker.start(600))
            show("start after that", took, "s")
            report("idle with all segments", broker, base, partitions)
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
    parser.add_argument("--segments", type=int, default=1, help="records, each a segment of its own, per partition")
    parser.add_argument("--folder")
    parser.add_argument("--kafka", action="store_true")
    ARGUMENTS = parser.parse_args()
    os.environ.setdefault("CORDWOOD_BINARY", os.path.join(ROOT, "build/bench/cordwood"))
    measure("Cordwood", Cordwood, ARGUMENTS.partitions)
    if ARGUMENTS.kafka:
        measure("Apache Kafka", kafka, ARGUMENTS.partitions)
