"""Many more partitions than descriptors: each is written and read, and nothing complains."""
import os
import stat
import struct

import wire
from harness import Cordwood, binary, check, check_equal, run, workspace

LIMIT = 256
PARTITIONS = 2_000


def limited_binary(folder):
    path = os.path.join(folder, "limited")
    with open(path, "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\nulimit -n {LIMIT}\nexec '{binary()}' \"$@\"\n")
    os.chmod(path, stat.S_IRWXU)
    return path


def descriptors(broker):
    return len(os.listdir(f"/proc/{broker.process.pid}/fd"))


def write_all(connection, records, expected_offset):
    # Sixteen at a time: what a connection may have in flight does not matter, how long this takes does.
    for first in range(0, PARTITIONS, 16):
        numbers = range(first, min(first + 16, PARTITIONS))
        for partition in numbers:
            connection.send(wire.request(0, 7, wire.produce_body("many", partition, records)))
        for partition in numbers:
            answer = connection.receive()[1]
            at = 4 + 2 + len("many") + 4 + 4
            check_equal(struct.unpack(">hq", answer[at:at + 10]), (0, expected_offset), f"produce to many-{partition}")


def main():
    with workspace("descriptors") as folder:
        os.environ["CORDWOOD_BINARY"] = limited_binary(folder)
        broker = Cordwood(folder)
        broker.start()
        records = wire.batch([(b"key", b"value")])
        with wire.Connection(broker.port) as connection:
            wire.create_topic(connection, "many", PARTITIONS, {"retention.ms": "-1"})  # the records are of 2023
            for round_ in range(2):
                write_all(connection, records, round_)
            for partition in range(PARTITIONS):
                error, high_watermark, data = wire.fetch(connection, "many", partition, 0)
                check_equal((error, high_watermark, len(list(wire.batches(data)))), (0, 2, 2), f"fetch of many-{partition}")
            check(descriptors(broker) < LIMIT, f"{descriptors(broker)} descriptors are open")
        broker.kill()
        broker.start()
        with wire.Connection(broker.port) as connection:
            write_all(connection, records, 2)
        check_equal(broker.stop(), 0, "exit code")
        broker.start()
        with wire.Connection(broker.port) as connection:
            for partition in range(0, PARTITIONS, 7):
                check_equal(wire.list_offset(connection, "many", partition, -1)[2], 3, f"end of many-{partition}")
        check_equal(broker.stop(), 0, "exit code")
        for complaint in ("no descriptor", "goes offline", "Too many open files"):
            check(complaint not in broker.output(), f"the log says {complaint!r}")


if __name__ == "__main__":
    run(main)
