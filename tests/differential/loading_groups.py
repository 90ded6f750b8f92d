"""What a group's requests are answered while its partition of __consumer_offsets is loading: Cordwood answers as Apache Kafka does.

Kafka's loading is held up by a library that lets large reads of the partition's log wait; Cordwood's by a named pipe in the place
of a file that the recovery reads.
"""
import os
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402
from harness import check, check_equal  # noqa: E402
from wire import Connection  # noqa: E402

GROUP = "group"
OFFSETS = {"offsets.topic.num.partitions": "1"}
COMMITS = 100
LARGE_READ = 100_000


def wait_for_codes(connection, expected, what):
    deadline = time.monotonic() + 60
    while (codes := wire.group_codes(connection, GROUP, "t")) != expected:
        check(time.monotonic() < deadline, f"{what}: {codes}, expected {expected}")
        time.sleep(0.1)


def fill(connection):
    """Commits of 4 KB each; what a group whose coordinator has loaded is answered."""
    wire.create_topic(connection, "t")
    deadline = time.monotonic() + 60
    while wire.group_codes(connection, GROUP, "t")["OffsetCommit"] != 0:
        check(time.monotonic() < deadline, "no coordinator")
        time.sleep(0.1)
    body = (wire.string(GROUP) + struct.pack(">i", -1) + wire.string("") + struct.pack(">qi", -1, 1) + wire.string("t")
            + struct.pack(">iiq", 1, 0, 9) + wire.string("m" * 4_000))
    for _ in range(COMMITS):
        check_equal(struct.unpack(">h", connection.call(8, 2, body)[-2:])[0], 0, "commit")
    return wire.group_codes(connection, GROUP, "t")


def of_kafka(folder):
    library = os.path.join(folder, "slow_reads.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, os.path.join(harness.ROOT, "tests/e2e/slow_reads.c"), "-ldl"],
                   check=True)
    with harness.Kafka(folder, overrides=OFFSETS).format() as kafka:
        kafka.start()
        with Connection(kafka.port) as c:
            loaded = fill(c)
        kafka.stop()
        switch = os.path.join(folder, "slow")
        with open(switch, "w", encoding="ascii"):
            pass
        os.environ.update({"LD_PRELOAD": library, "SLOW_SWITCH": switch, "SLOW_PART": "__consumer_offsets-0/",
                           "SLOW_BYTES": str(LARGE_READ)})
        try:
            kafka.start()
        finally:
            for name in ("LD_PRELOAD", "SLOW_SWITCH", "SLOW_PART", "SLOW_BYTES"):
                del os.environ[name]
        with Connection(kafka.port) as c:
            deadline = time.monotonic() + 30
            # Before it begins to load it is no coordinator.
            while wire.group_codes(c, GROUP, "t")["OffsetFetch v2"] != 14:
                check(time.monotonic() < deadline, "the coordinator does not begin to load")
                time.sleep(0.1)
            loading = wire.group_codes(c, GROUP, "t")
            os.remove(switch)
            wait_for_codes(c, loaded, "Kafka, loaded")
        kafka.stop()
        return loading, loaded


def of_cordwood(folder):
    broker = harness.Cordwood(folder, overrides=OFFSETS)
    with broker:
        broker.start()
        with Connection(broker.port) as c:
            loaded = fill(c)
        broker.kill()
        pipe = os.path.join(broker.dirs[0], "__consumer_offsets-0/partition.metadata")
        os.remove(pipe)
        os.mkfifo(pipe)
        writer = os.open(pipe, os.O_RDWR)  # as long as it is open, whoever reads waits
        broker.start()
        with Connection(broker.port) as c:
            loading = wire.group_codes(c, GROUP, "t")
            os.close(writer)
            wait_for_codes(c, loaded, "Cordwood, loaded")
        check_equal(broker.stop(), 0, "exit code")
        return loading, loaded


def main():
    with harness.workspace("loading-groups") as folder:
        told = {}
        for side, ask in (("kafka", of_kafka), ("cordwood", of_cordwood)):
            own = os.path.join(folder, side)
            os.makedirs(own)
            told[side] = ask(own)
            print(f"{side}: {told[side]}", flush=True)
        check_equal(told["kafka"][0]["OffsetFetch v2"], 14, "Kafka is loading")
        check_equal(told["cordwood"], told["kafka"], "answers while the groups load, and after it")


if __name__ == "__main__":
    harness.run(main)
