"""A partition moves between log directories under load (AlterReplicaLogDirs), asked for by Apache Kafka's Admin client.

Every record that was acknowledged, before, during and after the moves, is there, byte for byte; a kill -9 in the middle of a
move leaves one whole log and the move goes on; Apache Kafka starts on the result and gives the same records.
"""
import hashlib
import os
import sys
import threading
import time

import harness
import wire
from harness import check, check_equal
from wire import Closed, Connection, batch, produce

T = 1_700_000_000_000
TOPIC = "moving"


class Load(threading.Thread):
    """Produces to partition 0 until told to end; `acknowledged` is offset -> hash of the record's value."""

    def __init__(self, broker):
        super().__init__()
        self.broker = broker
        self.acknowledged = {}
        self.ended = threading.Event()
        self.number = 0
        self.failure = None

    def run(self):
        try:
            while not self.ended.is_set():
                try:
                    with Connection(self.broker.port, timeout=30) as c:
                        while not self.ended.is_set():
                            value = b"%d " % self.number + os.urandom(3000)
                            self.number += 1
                            code, offset = produce(c, TOPIC, 0, batch([(b"k", value)], base_timestamp=T))
                            check_equal(code, 0, "produce while the log moves")
                            check(offset not in self.acknowledged, f"offset {offset} twice")
                            self.acknowledged[offset] = hashlib.sha256(value).hexdigest()
                            # Leaves the rest some of the machine.
                            time.sleep(0.001)
                except (Closed, OSError):
                    time.sleep(0.05)  # it was killed on purpose
        except harness.TestFailure as failure:
            self.failure = failure


def values(connection):
    """offset -> batch, of the whole partition: one record each."""
    found, at = {}, 0
    end = wire.list_offset(connection, TOPIC, 0, -1)[2]
    while at < end:
        code, _, data = wire.fetch(connection, TOPIC, 0, at, max_bytes=4 << 20)
        check_equal(code, 0, f"fetch at {at}")
        for base, raw in wire.batches(data):
            check_equal(base, at, "offset")
            found[base] = raw
            at = base + 1
    return found


def check_records(connection, load):
    found = values(connection)
    for offset, digest in load.acknowledged.items():
        check(offset in found, f"offset {offset} is gone")
        # Of the one record in the batch the value is the last but for the byte that counts no headers.
        raw = found[offset][61:-1]
        check(any(hashlib.sha256(raw[i:]).hexdigest() == digest for i in range(4, 16)), f"the record at {offset} has changed")
    return len(found)


def move(broker, to, *more):
    source = os.path.join(harness.ROOT, "tests/e2e/MoveReplica.java")
    done = harness.java(source, broker.address(), TOPIC, "0", to, *more)
    check_equal(done.returncode, 0, f"the move to {to}: {done.stdout} {done.stderr[-2000:]}\n{broker.output()[-3000:]}")
    return done.stdout.strip()


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.02)


def main():
    with harness.workspace("moves") as folder:
        dirs = [os.path.join(folder, "one"), os.path.join(folder, "two")]
        overrides = {"metadata.log.dir": dirs[0], "log.segment.delete.delay.ms": "0"}
        with harness.Cordwood(folder, dirs, overrides) as broker:
            broker.start()
            with Connection(broker.port) as c:
                wire.create_topic(c, TOPIC, 2, {"segment.bytes": "1048576", "retention.ms": "-1"})
                for _ in range(60):
                    check_equal(produce(c, TOPIC, 0, batch([(b"k", b"0 " + os.urandom(900_000))], base_timestamp=T))[0], 0, "produce")
            # None for the instant in which the old directory has lost the name and the copy has not got it yet.
            here = lambda: next((d for d in dirs if os.path.isdir(os.path.join(d, f"{TOPIC}-0"))), None)  # noqa: E731
            other = lambda: next(d for d in dirs if d != here())  # noqa: E731
            load = Load(broker)
            load.start()
            for _ in range(2):
                target = other()
                print(move(broker, target))
                check_equal(here(), target, "where the log lies")
            # Given up: back to where it is.
            target = here()
            move(broker, other(), "begin")
            move(broker, target)
            wait_for(lambda: not any("-future" in name for d in dirs for name in os.listdir(d)), 30, "the copy stays")
            # Killed in the middle.
            for _ in range(3):
                target = other()
                asked = threading.Thread(target=harness.java, args=(
                    os.path.join(harness.ROOT, "tests/e2e/MoveReplica.java"), broker.address(), TOPIC, "0", target, "begin"))
                asked.start()
                wait_for(lambda: any("-future" in name for d in dirs for name in os.listdir(d)) or here() == target, 60,
                         "no copy is begun")
                broker.kill()
                broker.wanted_port = broker.port
                broker.start()
                asked.join()
                wait_for(lambda: here() == target, 60,
                         "the move does not go on after a restart")
            load.ended.set()
            load.join()
            check(load.failure is None, str(load.failure))
            with Connection(broker.port) as c:
                count = check_records(c, load)
                before = values(c)
            check_equal(broker.stop(), 0, "exit code")
        names = sorted(name for d in dirs for name in os.listdir(d) if name.startswith(TOPIC))
        check_equal(names, [f"{TOPIC}-0", f"{TOPIC}-1"], "directories that are left")
        with harness.Kafka(folder, dirs, {"metadata.log.dir": dirs[0]}) as kafka:
            kafka.start()
            with Connection(kafka.port) as c:
                wait_for(lambda: wire.list_offset(c, TOPIC, 0, -1)[0] == 0, 60, "Kafka does not lead the partition")
                check(values(c) == before, "Apache Kafka gives other records")
            check_equal(kafka.stop() in (0, 143), True, "Kafka's exit code")
        print(f"{count} records, of them {len(load.acknowledged)} produced while the log moved; Apache Kafka reads the same")


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
