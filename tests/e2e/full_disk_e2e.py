"""A disk that is full, on a tmpfs and, where loop devices can be had, on ext4.

Records are refused with a retriable code; everything else goes on: reading, committing, deleting, a clean stop, a start after a
kill and after a stop on a disk without a single free byte. Nothing acknowledged is lost, and when there is room again
records are taken without a restart.
"""
import os
import shutil
import struct
import subprocess
import sys
import time

import harness
import wire
from harness import check, check_equal
from wire import Connection, batch, produce

T = 1_700_000_000_000
STORAGE_ERROR = 56


def commit(connection, group, offset):
    body = wire.string(group) + struct.pack(">i", -1) + wire.string("") + struct.pack(">qi", -1, 1)
    body += wire.string("fill") + struct.pack(">iiq", 1, 0, offset) + wire.string("")
    return struct.unpack(">h", connection.call(8, 2, body)[-2:])[0]


def begin_group(connection, group):
    deadline = time.monotonic() + 30
    while struct.unpack(">h", connection.call(10, 0, wire.string(group))[:2])[0] != 0 or commit(connection, group, 0) != 0:
        check(time.monotonic() < deadline, "the group's coordinator does not come")
        time.sleep(0.1)


def delete_records(connection, offset):
    body = struct.pack(">i", 1) + wire.string("fill") + struct.pack(">iiqi", 1, 0, offset, 10000)
    return struct.unpack(">h", connection.call(21, 0, body)[-2:])[0]


def fill(connection):
    """Until records are refused; the number acknowledged."""
    payload = os.urandom(100_000)
    while True:
        code, offset = produce(connection, "fill", 0, batch([(b"k", payload)], base_timestamp=T))
        if code != 0:
            check_equal(code, STORAGE_ERROR, "answer when the disk is full")
            return wire.list_offset(connection, "fill", 0, -1)[2]
        check(offset < 5000, "the disk does not become full")


def take_the_rest(disk):
    """To the last byte, as another program might."""
    path = os.path.join(disk, "filler")
    with open(path, "ab", buffering=0) as f:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    if f.write(bytes(size)) == 0:
                        break
            except OSError:
                pass
        try:
            os.fsync(f.fileno())
        except OSError:
            pass
    return path


def read_all(connection, end, start=0):
    count = 0
    at = start
    while at < end:
        code, _, data = wire.fetch(connection, "fill", 0, at)
        check_equal(code, 0, f"fetch at {at}")
        found = [base for base, _ in wire.batches(data)]
        check(found and found[0] == at, f"a record of offset {at}")
        count += len(found)
        at = found[-1] + 1
    return count


def run(folder, disk, what):
    overrides = {"log.segment.bytes": "1048576", "log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "100",
                 "log.segment.delete.delay.ms": "0", "offsets.topic.num.partitions": "1"}
    own = os.path.join(disk, "data")
    with harness.Cordwood(folder, [own], overrides, name=what) as broker:
        broker.start()
        with Connection(broker.port) as c:
            wire.create_topic(c, "fill", configs={"retention.ms": "-1"})
            begin_group(c, "g")
            end = fill(c)
            check(end > 50, f"only {end} records fit")
            check_equal(read_all(c, end), end, "records while the disk is nearly full")
            filler = take_the_rest(disk)
            for _ in range(3):
                check_equal(produce(c, "fill", 0, batch([(b"k", b"v" * 5000)], base_timestamp=T))[0], STORAGE_ERROR, "produce")
            check_equal(read_all(c, end), end, "records on the full disk")
            check_equal(wire.list_offset(c, "fill", 0, -1)[2], end, "log end on the full disk")
        broker.kill()
        take_the_rest(disk)
        for round_ in range(6):
            broker.start()
            with Connection(broker.port) as c:
                check_equal(wire.list_offset(c, "fill", 0, -1)[2], end, f"log end after start {round_} on the full disk")
                check_equal(read_all(c, end), end, "records after a start on the full disk")
                time.sleep(1.2)  # the first look at the disk
                check_equal(produce(c, "fill", 0, batch([(b"k", b"v" * 5000)], base_timestamp=T))[0], STORAGE_ERROR, "produce")
            if round_ % 2 == 0:
                check_equal(broker.stop(), 0, f"exit code of a stop on the full disk:\n{broker.output()[-2000:]}")
            else:
                broker.kill()
            take_the_rest(disk)
        broker.start()
        with Connection(broker.port) as c:
            # Deleting makes room: whole segments go.
            check_equal(delete_records(c, end // 2), 0, "DeleteRecords on the full disk")
            deadline = time.monotonic() + 30
            while produce(c, "fill", 0, batch([(b"k", b"again")], base_timestamp=T))[0] != 0:
                check(time.monotonic() < deadline, "no room after records were deleted")
                time.sleep(0.2)
            os.remove(filler)
            check_equal(commit(c, "g", 7), 0, "a commit")
            new_end = wire.list_offset(c, "fill", 0, -1)[2]
            check_equal(new_end, end + 1, "log end when records are taken again")
            check_equal(read_all(c, new_end, end // 2), new_end - end // 2, "records after it all")
            # Once more, and a group commits below the floor.
            end = fill(c)
            check_equal(commit(c, "g", 8), 0, "a commit while records are refused")
        check_equal(broker.stop(), 0, "exit code at the end")
    shutil.copytree(own, os.path.join(folder, f"{what}-copy"))
    print(f"{what}: {end} records, refused when it was full, read, started, stopped and mended")


def mounted(folder, what):
    disk = os.path.join(folder, what)
    os.mkdir(disk)
    if what == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk]
    else:
        image = os.path.join(folder, "image")
        with open(image, "wb") as f:
            f.truncate(64 << 20)
        if subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], capture_output=True, check=False).returncode != 0:
            return None
        command = ["mount", "-o", "loop", image, disk]
    return disk if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def main():
    if os.geteuid() != 0 or not shutil.which("mount"):
        print("not root: a full disk is left to the unit tests")
        return
    with harness.workspace("full") as folder:
        for what in ("tmpfs", "ext4"):
            disk = mounted(folder, what)
            if disk is None:
                print(f"{what}: cannot be mounted here")
                continue
            try:
                run(folder, disk, what)
            finally:
                subprocess.run(["umount", "-l", disk], capture_output=True, check=False)


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
