"""A log directory that fails under a running broker: Apache Kafka and Cordwood answer alike, and both end with the last one.

Two log directories; below the second one every change fails from some moment on (a preloaded library: a read-only remount and
a broken disk), or it vanishes altogether. Each API is asked before and after, of a partition in the lost directory and of one
in the other. Then the first directory, which holds the metadata, fails as well.
"""
import errno
import os
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402
from harness import check, check_equal  # noqa: E402
from wire import Connection, batch, produce  # noqa: E402

T = 1_700_000_000_000
TOPIC = "parts"
PARTITIONS = 6


def compile_library(folder):
    library = os.path.join(folder, "failing_disk.so")
    source = os.path.join(harness.ROOT, "tests/e2e/failing_disk.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def metadata(connection, topic=TOPIC):
    """partition -> (error, leader, replicas, isr, offline replicas), of Metadata v7."""
    answer = connection.call(3, 7, struct.pack(">i", 1) + wire.string(topic) + b"\0")
    at = 4

    def take(form):
        nonlocal at
        values = struct.unpack_from(">" + form, answer, at)
        at += struct.calcsize(">" + form)
        return values

    def text():
        nonlocal at
        length = take("h")[0]
        at += max(length, 0)

    def ids():
        return [take("i")[0] for _ in range(take("i")[0])]
    for _ in range(take("i")[0]):
        take("i")
        text()
        take("i")
        text()
    text()
    take("i")
    found = {}
    for _ in range(take("i")[0]):
        topic_error = take("h")[0]
        text()
        take("b")
        for _ in range(take("i")[0]):
            error, index, leader, _epoch = take("hiii")
            found[index] = (topic_error, error, leader, ids(), ids(), ids())
    return found


def delete_records(connection, partition, offset):
    body = struct.pack(">i", 1) + wire.string(TOPIC) + struct.pack(">iiqi", 1, partition, offset, 10000)
    answer = connection.call(21, 0, body)
    return struct.unpack(">h", answer[-2:])[0]


def log_dirs(connection):
    """directory -> (error, number of partitions), of DescribeLogDirs v1."""
    answer = connection.call(35, 1, struct.pack(">i", -1))
    at = 4
    count, = struct.unpack_from(">i", answer, at)
    at += 4
    found = {}
    for _ in range(count):
        error, length = struct.unpack_from(">hh", answer, at)
        path = answer[at + 4:at + 4 + length].decode()
        at += 4 + length
        topics, = struct.unpack_from(">i", answer, at)
        at += 4
        number = 0
        for _ in range(topics):
            length, = struct.unpack_from(">h", answer, at)
            at += 2 + length
            partitions, = struct.unpack_from(">i", answer, at)
            at += 4 + partitions * (4 + 8 + 8 + 1)
            number += partitions
        found[os.path.basename(path)] = (error, number)
    return found


def alter_log_dir(connection, path, partition, topic=TOPIC):
    body = struct.pack(">i", 1) + wire.string(path) + struct.pack(">i", 1) + wire.string(topic) + struct.pack(">ii", 1, partition)
    return struct.unpack(">h", connection.call(34, 1, body)[-2:])[0]


def fetch_code(connection, partition):
    return wire.fetch(connection, TOPIC, partition, 0)[0]


def answers(connection, dirs, lost, kept):
    """What every API says of the two partitions."""
    told = {}
    for name, partition in (("lost", lost), ("kept", kept)):
        told[name] = {
            "produce": produce(connection, TOPIC, partition, batch([(b"k", b"v")], base_timestamp=T))[0],
            "fetch": fetch_code(connection, partition),
            "latest offset": wire.list_offset(connection, TOPIC, partition, -1)[0],
            "by time": wire.list_offset(connection, TOPIC, partition, T)[0],
            "delete records": delete_records(connection, partition, 1),
            "metadata": metadata(connection)[partition],
        }
    told["alter log dirs"] = {
        "unknown path": alter_log_dir(connection, "/nowhere", kept),
        "relative path": alter_log_dir(connection, os.path.basename(dirs[0]), kept),
        "unknown partition": alter_log_dir(connection, dirs[0], 99),
        "unknown topic": alter_log_dir(connection, dirs[0], 0, "nope"),
        "where it lies": alter_log_dir(connection, dirs[0], kept),
        "of the lost": alter_log_dir(connection, dirs[0], lost) if metadata(connection)[lost][2] == -1 else None,
        "to the failed one": alter_log_dir(connection, dirs[1], kept) if metadata(connection)[lost][2] == -1 else None,
    }
    told["log dirs"] = {path: error for path, (error, _) in log_dirs(connection).items()}
    return told


class Scenario:
    def __init__(self, make, folder, library, how):
        self.folder = folder
        self.how = how
        self.dirs = [os.path.join(folder, "one"), os.path.join(folder, "two")]
        self.switch = os.path.join(folder, "switch")
        os.environ.update({"FAILING_SWITCH": self.switch, "FAILING_PREFIX": self.dirs[1], "LD_PRELOAD": library,
                           # A sanitizer's runtime would be first otherwise.
                           "ASAN_OPTIONS": "verify_asan_link_order=0"})
        try:
            overrides = {"metadata.log.dir": self.dirs[0], "replica.high.watermark.checkpoint.interval.ms": "1000"}
            self.broker = make(folder, self.dirs, overrides)
            self.broker.start()
        finally:
            for name in ("FAILING_SWITCH", "FAILING_PREFIX", "LD_PRELOAD", "ASAN_OPTIONS"):
                del os.environ[name]

    def place_of(self, partition):
        return next(i for i, d in enumerate(self.dirs) if os.path.isdir(os.path.join(d, f"{TOPIC}-{partition}")))

    def break_it(self):
        if self.how == "vanished":
            shutil.rmtree(self.dirs[1])
        else:
            with open(self.switch, "w", encoding="ascii") as f:
                f.write(str(self.how))

    def run(self):
        with self.broker, Connection(self.broker.port) as c:
            wire.create_topic(c, TOPIC, PARTITIONS, {"retention.ms": "-1"})
            for i in range(PARTITIONS):
                deadline = time.monotonic() + 30
                while (code := produce(c, TOPIC, i, batch([(b"k", b"v")] * 3, base_timestamp=T))[0]) != 0:
                    check(time.monotonic() < deadline, f"produce before anything failed: {code}")
                    time.sleep(0.1)
            places = {self.place_of(i): i for i in range(PARTITIONS)}
            check_equal(sorted(places), [0, 1], "directories that hold partitions")
            before = answers(c, self.dirs, places[1], places[0])
            self.break_it()
            first = produce(c, TOPIC, places[1], batch([(b"k", b"v")], base_timestamp=T))[0]
            # Until the broker has noticed, and the controller with it.
            deadline = time.monotonic() + 30
            while produce(c, TOPIC, places[1], batch([(b"k", b"v")], base_timestamp=T))[0] == 0 or \
                    metadata(c)[places[1]][2] != -1:
                check(time.monotonic() < deadline, "the broker does not notice that the directory has failed")
                time.sleep(0.2)
            time.sleep(1)
            after = answers(c, self.dirs, places[1], places[0])
            check(self.broker.process.poll() is None, "the broker ended with the first of two directories")
            return {"before": before, "at once": None if self.how == "vanished" else first, "after": after,
                    "end": self.lose_the_other(c, places[0])}

    def lose_the_other(self, connection, partition):
        if self.how == "vanished":
            shutil.rmtree(self.dirs[0])
            try:
                wire.create_topic(connection, "unheard-of")
            except (AssertionError, wire.Closed, OSError):
                pass
        return self.exit_code() if self.how == "vanished" else None

    def exit_code(self):
        try:
            return self.broker.process.wait(60)
        except subprocess.TimeoutExpired:
            return "it lives on"


def main():
    kinds = {"read-only": errno.EROFS, "broken": errno.EIO, "vanished": "vanished"}
    with harness.workspace("failed") as folder:
        library = compile_library(folder)
        for name, how in kinds.items():
            told = {}
            for side, make in (("kafka", lambda f, dirs, o: harness.Kafka(f, dirs, o).format()), ("cordwood", harness.Cordwood)):
                own = os.path.join(folder, f"{name}-{side}")
                os.makedirs(own)
                told[side] = Scenario(make, own, library, how).run()
            print(f"{name}: {told['kafka']}")
            for part in told["kafka"]:
                check_equal(told["cordwood"][part], told["kafka"][part], f"{name}: {part}")
            print(f"{name}: Cordwood answers as Apache Kafka does")


if __name__ == "__main__":
    harness.run(main)
