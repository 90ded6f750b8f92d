"""A move between log directories that one broker began and another one finds: Cordwood is killed in the middle and Apache Kafka starts
on the directories, then the other way round. The log is whole in either case.

Kafka takes Cordwood's unfinished copy for a stray, as it must: it may have holes. Cordwood begins Kafka's copy anew.
"""
import hashlib
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402
from harness import check, check_equal  # noqa: E402
from wire import Connection, batch, produce  # noqa: E402

T = 1_700_000_000_000
TOPIC = "moving"
BATCHES = 120


def records(port):
    """offset -> digest of its batch, of the whole partition (one record a batch)."""
    found, at = {}, 0
    with Connection(port) as c:
        deadline = time.monotonic() + 60
        while wire.list_offset(c, TOPIC, 0, -1)[0] != 0:
            check(time.monotonic() < deadline, "the partition is not led")
            time.sleep(0.1)
        end = wire.list_offset(c, TOPIC, 0, -1)[2]
        while at < end:
            code, _, data = wire.fetch(c, TOPIC, 0, at, max_bytes=4 << 20)
            check_equal(code, 0, f"fetch at {at}")
            for base, raw in wire.batches(data):
                check_equal(base, at, "offset")
                # Behind the leader epoch: each broker has its own.
                found[base] = hashlib.sha256(raw[16:]).digest()
                at = base + 1
    return found


def names(dirs):
    """Without the ids in the names."""
    return sorted((os.path.basename(d), re.sub(r"\.[0-9a-f]{32}-", "-", name))
                  for d in dirs for name in os.listdir(d) if name.startswith(TOPIC) and not name.endswith("-delete"))


def interrupt(broker, dirs):
    """Asks for a move and kills the broker once a part of it is copied; the names of where the log lies and where it is to go."""
    before = names(dirs)
    here = next(d for d in dirs if os.path.isdir(os.path.join(d, f"{TOPIC}-0")))
    target = next(d for d in dirs if d != here)
    asked = threading.Thread(target=harness.java, args=(
        os.path.join(harness.ROOT, "tests/e2e/MoveReplica.java"), broker.address(), TOPIC, "0", target, "begin"))
    asked.start()

    def copied():
        for name in os.listdir(target):
            if name.startswith(TOPIC) and name.endswith("-future"):
                try:
                    return sum(os.path.getsize(os.path.join(target, name, f)) for f in os.listdir(os.path.join(target, name))
                               if f.endswith(".log"))
                except FileNotFoundError:
                    return 0
        return 0
    deadline = time.monotonic() + 60
    while copied() < 3_000_000:
        check(time.monotonic() < deadline and not os.path.isdir(os.path.join(target, f"{TOPIC}-0")), "the move cannot be caught")
        time.sleep(0.0005)
    broker.kill()
    asked.join()
    left = names(dirs)
    print(f"{type(broker).__name__} leaves {left}", flush=True)
    check_equal(left, sorted([*before, (os.path.basename(target), f"{TOPIC}-0-future")]), "what the kill left")
    return os.path.basename(here), os.path.basename(target)


def go_on(broker, dirs, left, expected):
    """The other broker starts on it: the same records at once and when its directories are as in `left`."""
    broker.start()
    check_equal(records(broker.port), expected, f"{type(broker).__name__}: records right after the start")
    deadline = time.monotonic() + 120
    while names(dirs) != sorted(left):
        check(time.monotonic() < deadline, f"{type(broker).__name__} makes {names(dirs)} of it, expected {sorted(left)}")
        time.sleep(0.1)
    check_equal(records(broker.port), expected, f"{type(broker).__name__}: records after that")
    with Connection(broker.port) as c:
        code, offset = produce(c, TOPIC, 0, batch([(b"k", b"behind it")], base_timestamp=T))
        check_equal((code, offset), (0, len(expected)), "produce behind it")
    with_one_more = records(broker.port)
    check_equal({o: d for o, d in with_one_more.items() if o in expected}, expected, "records after one more")
    return with_one_more


def main():
    with harness.workspace("interrupted-move") as folder:
        dirs = [os.path.join(folder, "one"), os.path.join(folder, "two")]
        overrides = {"metadata.log.dir": dirs[0], "log.segment.delete.delay.ms": "0"}
        with harness.Cordwood(folder, dirs, overrides) as cordwood, harness.Kafka(folder, dirs, overrides) as kafka:
            cordwood.start()
            with Connection(cordwood.port) as c:
                wire.create_topic(c, TOPIC, 1, {"segment.bytes": "1048576", "retention.ms": "-1", "file.delete.delay.ms": "0"})
                for i in range(BATCHES):
                    value = b"%d " % i + os.urandom(900_000)
                    check_equal(produce(c, TOPIC, 0, batch([(b"k", value)], base_timestamp=T))[0], 0, "produce")
            expected = records(cordwood.port)
            check_equal(len(expected), BATCHES, "records before the move")
            here, target = interrupt(cordwood, dirs)
            expected = go_on(kafka, dirs, [(here, f"{TOPIC}-0"), (target, f"{TOPIC}-0-stray")], expected)
            print("Apache Kafka goes on with the log where it was and without the copy", flush=True)
            stray = target
            _, target = interrupt(kafka, dirs)
            go_on(cordwood, dirs, [(target, f"{TOPIC}-0"), (stray, f"{TOPIC}-0-stray")], expected)
            print("Cordwood brings the move that Apache Kafka began to its end", flush=True)
            check_equal(cordwood.stop(), 0, "exit code")


if __name__ == "__main__":
    harness.run(main)
