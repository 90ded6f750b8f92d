"""Bad input: frames, versions, batches, connections and directories that no well-meaning client or operator would send.

Each answer is Kafka's or one clear sentence; the process lives on; nothing acknowledged is lost.
"""
import os
import random
import resource
import shutil
import socket
import stat
import struct
import subprocess
import sys
import zlib

import harness
import wire
from harness import check, check_equal
from wire import Closed, Connection, batch, produce, record, request

T = 1_700_000_000_000


def alive(broker, topic="good"):
    with Connection(broker.port) as c:
        code, offset = produce(c, topic, 0, batch([(b"k", b"alive")], base_timestamp=T))
    check_equal(code, 0, "a good produce after the bad ones")
    return offset


def frames(broker):
    closing = {
        "length -1": struct.pack(">i", -1),
        "length 0": struct.pack(">i", 0),
        "length above the limit": struct.pack(">i", 104857601),
        "smallest length": struct.pack(">i", -2**31),
        "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "4 bytes": struct.pack(">i", 4) + b"\0\x12\0\0",
        "header without the client id": struct.pack(">ihhi", 8, 18, 0, 1),
    }
    for name, raw in closing.items():
        with Connection(broker.port) as c:
            c.send_raw(raw)
            check(c.is_closed(), f"{name}: the connection stays open")
    closing_requests = {
        "api key 999": (999, 0, b""), "api key -1": (-1, 0, b""), "removed api 4": (4, 0, b""),
        "Vote": (52, 0, b""), "Envelope": (58, 0, b""),
        "Produce v0": (0, 0, b""), "Produce v2": (0, 2, b""), "Produce v14": (0, 14, b""), "Fetch v3": (1, 3, b""),
        "Fetch v19": (1, 19, b""), "Metadata v14": (3, 14, b""), "ListOffsets v0": (2, 0, b""), "InitProducerId v6": (22, 6, b""),
        "count beyond the bytes": (3, 1, struct.pack(">i", 5)), "count -2 where null is not allowed": (19, 2, struct.pack(">i", -2)),
        "count above a million": (3, 1, struct.pack(">i", 1_000_001) + bytes(2_100_000)),
        "a string that claims 32767 bytes": (3, 1, struct.pack(">ih", 1, 32767)),
    }
    for name, (key, version, body) in closing_requests.items():
        with Connection(broker.port) as c:
            c.send(request(key, version, body))
            check(c.is_closed(), f"{name}: the connection stays open")
    with Connection(broker.port) as c:
        answer = c.call(18, 0, b"" + b"left over bytes")
        check_equal(struct.unpack(">h", answer[:2])[0], 0, "bytes after the body are ignored")
        c.send(struct.pack(">hhi", 18, 6, 7) + wire.string("x") + b"\0" + b"\1\1\0")
        _, answer = c.receive()
        check_equal(answer, struct.pack(">hihhh", 35, 1, 18, 0, 5), "ApiVersions v6 gets a v0 body with error 35")
        for correlation in (5, -5, 0, 2**31 - 1):
            c.send(request(18, 0, b"", correlation=correlation, client=None))
            check_equal(c.receive()[0], correlation, "correlation id")
    with Connection(broker.port) as c:  # five at once, then one byte at a time
        c.send_raw(b"".join(struct.pack(">i", len(f)) + f for f in (request(18, 0, b"", correlation=i) for i in range(5))))
        check_equal([c.receive()[0] for _ in range(5)], list(range(5)), "answers in order")
        frame = request(18, 0, b"", correlation=9)
        for byte in struct.pack(">i", len(frame)) + frame:
            c.send_raw(bytes([byte]))
        check_equal(c.receive()[0], 9, "one byte at a time")


def random_frames(broker, chance, count):
    """Random and mutated requests of every API: each is answered or closed, and the process lives."""
    for n in range(count):
        with Connection(broker.port) as c:
            key, version = chance.choice(list(range(0, 95))), chance.randrange(0, 14)
            body = bytes(chance.randrange(256) for _ in range(chance.randrange(0, 200)))
            if chance.random() < 0.5:
                body = bytes(chance.choice((0, 0, 0, 1, 1, 2, 255)) for _ in range(chance.randrange(0, 100)))
            c.socket.settimeout(0.15)
            c.send(request(key, version, body))
            try:
                c.receive()
            except (Closed, TimeoutError, socket.timeout):
                pass
    check(broker.process.poll() is None, "the broker ended")


def bad_batches(broker):
    good = batch([(b"a", b"b"), (b"c", b"d")], base_timestamp=T)
    gz = zlib.compressobj(9, zlib.DEFLATED, 31)
    small = gz.compress(record(0, b"a", b"b")) + gz.flush()
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    exploding = b"".join(bomb.compress(zeros) for _ in range(1500)) + bomb.flush()
    cases = {
        "empty": (b"", 87), "5 bytes": (b"12345", 87), "magic 0": (good[:16] + b"\0" + good[17:], 87),
        "magic 1": (good[:16] + b"\1" + good[17:], 87), "magic 3": (good[:16] + b"\3" + good[17:], 2),
        "truncated": (good[:-3], 87), "length 10": (good[:8] + struct.pack(">i", 10) + good[12:], 2),
        "length -5": (good[:8] + struct.pack(">i", -5) + good[12:], 2), "bad CRC": (batch([(b"a", b"b")], crc=1), 2),
        "two batches": (good + good, 87), "base offset 7": (batch([(b"a", b"b")], base_offset=7), 87),
        "count 0": (batch([(b"a", b"b")], count=0), 87), "count 3": (batch([(b"a", b"b")], count=3), 87),
        "count -1": (batch([(b"a", b"b")], count=-1), 87), "count 2^31-1": (batch([(b"a", b"b")], count=2**31 - 1, last_delta=2**31 - 2), 87),
        "last delta": (batch([(b"a", b"b")], last_delta=5), 87), "control": (batch([(b"a", b"b")], attributes=0x20), 87),
        "codec 5": (batch([(b"a", b"b")], attributes=5), -1), "codec 7": (batch([(b"a", b"b")], attributes=7), -1),
        "gzip garbage": (batch([(b"a", b"b")], attributes=1), -1), "snappy garbage": (batch([(b"a", b"b")], attributes=2), -1),
        "lz4 garbage": (batch([(b"a", b"b")], attributes=3), -1), "zstd garbage": (batch([(b"a", b"b")], attributes=4), -1),
        "gzip with fewer records": (batch([1, 2], payload=small, attributes=1), 87),
        "negative sequence": (batch([(b"a", b"b")], producer_id=5, producer_epoch=0, base_sequence=-1), 87),
        "too large": (batch([(b"a", b"b" * 1_100_000)], base_timestamp=T), 10),
        "record length beyond the batch": (batch([1], payload=wire.varint(1000) + b"\0" * 8), 87),
        "bytes left after the records": (batch([1], payload=record(0, b"a", b"b") + b"\0\0"), 87),
        "null header key": (batch([1], payload=b"\x10\0\0\0\1\1\2\1\1"), 87),
        "null records": (None, 87),
    }
    with Connection(broker.port) as c:
        before = wire.list_offset(c, "good", 0, -1)[2]
        for name, (data, expected) in cases.items():
            code, _ = produce(c, "good", 0, data)
            check_equal(code, expected, f"produce {name}")
        # A gigabyte and a half of zeros in 1.5 MB: whatever the answer, it must come.
        code, _ = produce(c, "large", 0, batch([1], payload=exploding, attributes=1))
        check(code in (87, -1, 10), f"a decompression bomb is refused, not {code}")
        for acks in (2, -2, 32767):
            check_equal(produce(c, "good", 0, good, acks=acks)[0], 21, f"acks {acks}")
        check_equal(produce(c, "absent", 0, good)[0], 3, "unknown topic")
        check_equal(produce(c, "good", 9, good)[0], 3, "unknown partition")
        check_equal(wire.list_offset(c, "good", 0, -1)[2], before, "nothing of all that was appended")
        check_equal(produce(c, "good", 0, good + b"stray")[0], 0, "fewer than 12 stray bytes are cut off")
    with Connection(broker.port) as c:  # acks=0: nothing on success, closed on failure
        c.send(request(0, 7, wire.produce_body("good", 0, good, acks=0)))
        c.send(request(18, 0, b"", correlation=2))
        check_equal(c.receive()[0], 2, "acks 0 has no answer")
        c.send(request(0, 7, wire.produce_body("absent", 0, good, acks=0)))
        check(c.is_closed(), "a failed acks 0 closes the connection")


def resident_kib(broker):
    with open(f"/proc/{broker.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def many_connections(broker):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    before = resident_kib(broker)
    idle = [socket.create_connection(("127.0.0.1", broker.port), 10) for _ in range(500)]
    half = [socket.create_connection(("127.0.0.1", broker.port), 10) for _ in range(500)]
    for s in half:
        # A hundred megabytes announced, three bytes sent.
        s.sendall(struct.pack(">i", 100_000_000) + b"abc")
    alive(broker)
    grown = resident_kib(broker) - before
    check(grown < 64 * 1024, f"1,000 idle and half-open connections cost {grown} KiB")
    # Readers that never read: big answers pile up for nobody else.
    slow = []
    for _ in range(20):
        c = Connection(broker.port)
        body = struct.pack(">iiiibi", -1, 0, 1, 50_000_000, 0, 1) + wire.string("large") + struct.pack(">iiqi", 1, 0, 0, 50_000_000)
        for _ in range(50):
            c.send(request(1, 4, body))
        slow.append(c)
    for _ in range(3):
        alive(broker)  # held up by the slow readers it would never be answered
    check(resident_kib(broker) - before < 256 * 1024, f"slow readers cost {resident_kib(broker) - before} KiB")
    for s in idle + half:
        s.close()
    for c in slow:
        c.socket.close()
    alive(broker)
    return grown


def start_fails(folder, overrides, words, dirs=None):
    """A start that must fail: exit code 1, soon, with one sentence that has these words."""
    command = [harness.binary(), "broker", "--override", f"log.dirs={','.join(dirs or [os.path.join(folder, 'data')])}",
               "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    for key, value in overrides.items():
        command += ["--override", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    check_equal(done.returncode, 1, f"exit code of a start that must fail ({words}): {done.stdout} {done.stderr}")
    for word in words:
        check(word in done.stderr, f"stderr says '{done.stderr.strip()}', not '{word}'")


def directories(folder):
    data = os.path.join(folder, "data")
    with harness.Cordwood(folder) as broker:
        broker.start()
        with Connection(broker.port) as c:
            wire.create_topic(c, "kept")
            for i in range(10):
                check_equal(produce(c, "kept", 0, batch([(b"k", b"%d" % i)], base_timestamp=T)), (0, i), "produce")
        start_fails(folder, {}, ["in use", data])  # the second process on the directory
        check_equal(broker.stop(), 0, "exit code")

        # Foreign entries are skipped and named.
        for name in ("lost+found", ".snapshots", "not_a_partition"):
            os.mkdir(os.path.join(data, name))
        with open(os.path.join(data, "notes.txt"), "w", encoding="ascii") as f:
            f.write("mine")
        broker.start()
        for name in ("lost+found", ".snapshots", "not_a_partition"):
            check(name in broker.output(), f"{name} is not named in the log")
        with Connection(broker.port) as c:
            check_equal(wire.list_offset(c, "kept", 0, -1)[2], 10, "records after foreign entries appeared")
        check_equal(broker.stop(), 0, "exit code")
        for name in ("lost+found", ".snapshots", "not_a_partition"):
            os.rmdir(os.path.join(data, name))

        start_fails(folder, {"node.id": "7"}, ["node", "7"])
        other = os.path.join(folder, "other")
        with harness.Cordwood(folder, [other], name="other") as second:
            second.start()
            check_equal(second.stop(), 0, "exit code")
        start_fails(folder, {}, ["cluster"], dirs=[data, other])
        start_fails(folder, {}, ["duplicated"], dirs=[data, data])
        start_fails(folder, {}, [], dirs=[os.path.join(folder, "data/meta.properties")])
        start_fails(folder, {"log.segmnt.bytes": "1"}, ["log.segmnt.bytes", "log.segment.bytes"])
        start_fails(folder, {"num.partitions": "many"}, ["num.partitions", "many"])
        broken = os.path.join(folder, "broken")
        shutil.copytree(data, broken)
        with open(os.path.join(broken, "meta.properties"), "w", encoding="ascii") as f:
            f.write("version=1\nnode.id=one\n")
        start_fails(folder, {}, ["meta.properties"], dirs=[broken])

        # Damage in the middle of the metadata log is refused, and nothing is removed.
        damaged = os.path.join(folder, "damaged")
        shutil.copytree(data, damaged)
        log = os.path.join(damaged, "__cluster_metadata-0", "00000000000000000000.log")
        with open(log, "r+b") as f:
            f.seek(300)
            byte = f.read(1)
            f.seek(300)
            f.write(bytes([byte[0] ^ 1]))
        size = os.path.getsize(log)
        start_fails(folder, {}, ["__cluster_metadata-0"], dirs=[damaged])
        check_equal(os.path.getsize(log), size, "size of the damaged metadata log")

        broker.start()
        with Connection(broker.port) as c:
            check_equal(wire.list_offset(c, "kept", 0, -1)[2], 10, "records at the end")
        check_equal(broker.stop(), 0, "exit code")

        if os.geteuid() == 0:
            # Root writes into read-only directories; a read-only mount and a full disk need a file system of their own.
            if shutil.which("mount") and os.path.exists("/proc/self/ns/mnt"):
                mounted(folder, data)
        else:
            os.chmod(data, stat.S_IRUSR | stat.S_IXUSR)
            start_fails(folder, {}, [data])
            os.chmod(data, stat.S_IRWXU)


def mounted(folder, data):
    """A read-only file system (tmpfs), where the machine lets us mount one. The full one: full_disk_e2e.py."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True).returncode != 0:
        print("no tmpfs can be mounted here: the read-only disk is left to the unit tests")
        return
    try:
        own = os.path.join(disk, "data")
        shutil.copytree(data, own)
        check_equal(subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True).returncode, 0, "remount")
        start_fails(folder, {}, [own], dirs=[own])
    finally:
        subprocess.run(["umount", "-l", disk], capture_output=True)


def main():
    seed = int(os.environ.get("CORDWOOD_SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    with harness.workspace("hostile") as folder:
        with harness.Cordwood(folder) as broker:
            broker.start()
            with Connection(broker.port) as c:
                wire.create_topic(c, "good")
                wire.create_topic(c, "large", configs={"max.message.bytes": "100000000", "max.decompressed.message.bytes": "100000000"})
                for _ in range(20):
                    check_equal(produce(c, "large", 0, batch([(b"k", os.urandom(900_000))], base_timestamp=T))[0], 0, "produce")
            frames(broker)
            random_frames(broker, random.Random(seed), 300)
            bad_batches(broker)
            grown = many_connections(broker)
            stored = alive(broker) + 1
            broker.kill()
            broker.start()
            with Connection(broker.port) as c:
                check_equal(wire.list_offset(c, "good", 0, -1)[2], stored, "records after a kill")
            check_equal(broker.stop(), 0, "exit code")
            print(f"frames, batches and connections: the process lived on; 1,000 connections cost {grown} KiB")
    with harness.workspace("directories") as folder:
        directories(folder)
        print("directories: each refused with its sentence, nothing lost")


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
