"""Cordwood starts on every directory that Apache Kafka 4.4.0 wrote (tests/golden/kafka-4.4.0) and serves what Kafka served.

Compared with what Kafka left and said: the first offset (expect/offsets.json), the end of every log that was stopped cleanly,
and that a reader gets from one to the other. The directories have no metadata log (but for the whole ones), so this is also the test of taking over.
"""
import json
import os
import re
import shutil
import sys

import harness
import wire
from harness import check, check_equal

GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")


def offsets_of(data, start):
    """Every record offset in the batches of a fetch, from `start` on; data batches only."""
    out = []
    for base, raw in wire.batches(data):
        attributes = int.from_bytes(raw[21:23], "big")
        count = int.from_bytes(raw[57:61], "big")
        last = base + int.from_bytes(raw[23:27], "big")
        out.append((base, last, count, bool(attributes & 0x20)))
    return out


def clean_ends(data):
    """Where each log ended, by the recovery points of a directory that was stopped cleanly."""
    if not os.path.exists(os.path.join(data, ".kafka_cleanshutdown")):
        return {}
    path = os.path.join(data, "recovery-point-offset-checkpoint")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="ascii") as f:
        lines = f.read().split("\n")[2:]
    return {(topic, int(index)): int(end) for topic, index, end in (line.split() for line in lines if line)}


def serve(case, folder):
    source = os.path.join(GOLDEN, case, "data")
    data = os.path.join(folder, case)
    shutil.copytree(source, data)
    for root, _, names in os.walk(data):
        os.chmod(root, 0o755)
        for name in names:
            os.chmod(os.path.join(root, name), 0o644)
    expected = os.path.join(GOLDEN, case, "expect/offsets.json")
    expect = None
    if os.path.exists(expected):
        with open(expected, encoding="utf-8") as f:
            expect = json.load(f)
    stopped_at = clean_ends(data)
    partitions = [d for d in os.listdir(data) if re.fullmatch(r".+-\d+", d) and not d.startswith("__cluster_metadata")]
    with harness.Cordwood(folder, [data], name=case) as broker:
        broker.start()
        with wire.Connection(broker.port) as c:
            for directory in partitions:
                topic, _, index = directory.rpartition("-")
                code, _, first = wire.list_offset(c, topic, int(index), -2)
                check_equal(code, 0, f"{case}: {directory} is served")
                code, _, end = wire.list_offset(c, topic, int(index), -1)
                check_equal(code, 0, f"{case}: {directory} is served")
                at = first
                while at < end:
                    code, _, data_bytes = wire.fetch(c, topic, int(index), at)
                    if case.startswith(("flip-below-rp", "legacy")) and code != 0:
                        break
                    check_equal(code, 0, f"{case}: fetch at {at}")
                    found = offsets_of(data_bytes, at)
                    if not found:
                        break
                    at = found[-1][1] + 1
                if expect is not None and len(partitions) == 1 and not case.endswith("-before"):
                    check_equal(first, offset(expect, "earliest"), f"{case}: earliest")
                # The last batch of clean-torn-before was cut by hand after the stop.
                if (topic, int(index)) in stopped_at and case != "clean-torn-before":
                    check_equal(end, stopped_at[topic, int(index)], f"{case}: end of {directory} after a clean stop")
                    if not case.startswith("flip-below-rp"):
                        check_equal(at, end, f"{case}: where reading {directory} ended")
        check_equal(broker.stop(), 0, f"{case}: exit code")
    return len(partitions)


def offset(expect, name):
    """offsets.json keeps a number, or an object with the number in it."""
    value = find(expect, name)
    return value["offset"] if isinstance(value, dict) else value


def find(node, name):
    if isinstance(node, dict):
        if name in node:
            return node[name]
        for child in node.values():
            found = find(child, name)
            if found is not None:
                return found
    if isinstance(node, list):
        for child in node:
            found = find(child, name)
            if found is not None:
                return found
    return None


def main():
    cases = sys.argv[1:] or sorted(d for d in os.listdir(GOLDEN) if os.path.isdir(os.path.join(GOLDEN, d, "data")))
    check(cases, "there are golden directories")
    served = 0
    with harness.workspace("golden") as folder:
        for case in cases:
            served += serve(case, folder)
    print(f"{len(cases)} directories of Apache Kafka 4.4.0, {served} partitions served")


if __name__ == "__main__":
    harness.run(main)
