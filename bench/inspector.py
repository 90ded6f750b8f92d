#!/usr/bin/env python3
"""How long does the inspector take to show much, and what does it cost the broker?

  inspector.py [open] [produce] [--folder DIR] [--gib N] [--partitions N] [--pairs N] [--mib N]

open      a directory of 50 segments of 1 GiB in one partition, and one of 10,000 partitions, each with `cordwood inspect`: from exec
          to the first answer, then each request of a page, the first time and again
produce   a producer against a broker that nobody looks at, and against one whose page is open and follows the partition, taking turns
          in pairs: throughput, CPU of the broker a MB, CPU of the inspector's own threads

The segments are valid: batches with right checksums, offsets and indexes, each of one record whose value is zeros. Where a batch is
longer than a page the zeros are a hole of the file, so that 50 GiB take some 5 on the disk; two segments, one closed and the active
one, have batches of 10 KiB, 104,857 of them. All is in the page cache when it is asked for. A follower asks for what the page asks for:
a stream of events for the partition, and at most every 2 s the partition and the last 256 KiB of its active segment.

Build first: `cmake --preset bench && ninja -C build/bench cordwood`, or set CORDWOOD_BINARY.
"""
import argparse
import gzip
import http.client
import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402

GIB = 1 << 30
BASE_TIME = 1_700_000_000_000
FOLLOW_EVERY_S = 2.0
TAIL_BYTES = 256 << 10


def show(what, value, unit, note=""):
    print(f"  {what:<58} {value:>10,.2f} {unit:<4} {note}", flush=True)


# --- directories ---

def zeros_batch(size, timestamp):
    """A batch of one record that is `size` bytes long, whose value is zeros."""
    value = b"\0" * (size - 80)
    while True:
        batch = wire.batch([(None, value)], base_timestamp=timestamp, leader_epoch=0)
        if len(batch) == size:
            return batch
        value = value[:len(value) - (len(batch) - size)] if len(batch) > size else value + b"\0" * (size - len(batch))


def write_segment(directory, base, size, batch_size, timestamp):
    """Its files; the offset behind it."""
    batch = zeros_batch(batch_size, timestamp)
    head = batch[8:96]
    count = size // batch_size
    stem = os.path.join(directory, f"{base:020d}")
    index = bytearray()
    times = bytearray(struct.pack(">qi", timestamp, 0))
    log = os.open(stem + ".log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.ftruncate(log, count * batch_size)
    for i in range(count):
        os.pwrite(log, struct.pack(">q", base + i) + head, i * batch_size)
        if i > 0:
            index += struct.pack(">ii", i, i * batch_size)
    os.close(log)
    for suffix, content in ((".index", index), (".timeindex", times)):
        with open(stem + suffix, "wb") as f:
            f.write(content)
    return base + count


def write_snapshot(directory, offset):
    body = struct.pack(">i", 0)
    with open(os.path.join(directory, f"{offset:020d}.snapshot"), "wb") as f:
        f.write(struct.pack(">hI", 1, wire.crc32c(body)) + body)


def set_checkpoint(path, name, value):
    lines = []
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            lines = [line for line in f.read().splitlines()[2:] if line and not line.startswith(name + " ")]
    topic, partition = name.rsplit("-", 1)
    lines = [line for line in lines if not line.startswith(f"{topic} {partition} ")]
    lines.append(f"{topic} {partition} {value}")
    with open(path, "w", encoding="ascii") as f:
        f.write("0\n" + f"{len(lines)}\n" + "\n".join(lines) + "\n")


def make_large(folder, gib):
    """A directory that a broker has made and stopped, whose partition then gets its segments."""
    data = os.path.join(folder, "data")
    with harness.Cordwood(folder) as broker:
        broker.start()
        with wire.Connection(broker.port) as connection:
            wire.create_topic(connection, "large", 1, {"retention.ms": "-1"})
        broker.stop()
    partition = os.path.join(data, "large-0")
    for name in os.listdir(partition):
        if name.split(".")[0].isdigit():
            os.unlink(os.path.join(partition, name))
    offset = 0
    bases = []
    for i in range(gib):
        dense = i in (gib // 2, gib - 1)
        bases.append(offset)
        offset = write_segment(partition, offset, GIB, (10 if dense else 64) << 10, BASE_TIME + i * 60_000)
    write_snapshot(partition, bases[-1])
    write_snapshot(partition, offset)
    with open(os.path.join(partition, "leader-epoch-checkpoint"), "w", encoding="ascii") as f:
        f.write("0\n1\n0 0\n")
    for file in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        set_checkpoint(os.path.join(data, file), "large-0", offset)
    return data, bases, offset


def make_many(folder, partitions):
    data = os.path.join(folder, "data")
    records = wire.batch([(b"key", b"a value")])
    with harness.Cordwood(folder) as broker:
        broker.start()
        with wire.Connection(broker.port, timeout=600) as connection:
            for i in range(partitions // 1000):
                wire.create_topic(connection, f"many-{i}", 1000)
                wire.produce(connection, f"many-{i}", 7, records)
        broker.stop(600)
    return data


# --- requests ---

class Inspect(harness.Process):
    def __init__(self, folder, name="inspect"):
        super().__init__(os.path.join(folder, f"{name}.log"))

    def start(self, dirs):
        match = self.launch([harness.binary(), "inspect", dirs, "--port", "0"], r"is shown at http://[^:]+:(\d+)/", 120)
        self.port = int(match.group(1))
        return self


def ask(connection, path):
    """Seconds, and what was answered."""
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read()
    took = time.perf_counter() - began
    if answer.status != 200:
        sys.exit(f"GET {path}: {answer.status}: {text[:300]!r}")
    return took, json.loads(text)


def time_requests(connection, paths):
    slowest = 0.0
    for what, path in paths:
        first, answer = ask(connection, path)
        again = statistics.median(ask(connection, path)[0] for _ in range(3))
        note = f"again {again * 1000:,.1f} ms"
        if "scanned_bytes" in answer:
            note += f"; {answer['scanned_bytes']:,} bytes scanned, complete: {answer.get('complete')}"
        show(what, first * 1000, "ms", note)
        slowest = max(slowest, first)
    return slowest


def opened(folder, data, paths_of, what):
    inspect = Inspect(folder, what)
    with inspect:
        began = time.perf_counter()
        inspect.start(data)
        connection = http.client.HTTPConnection("127.0.0.1", inspect.port, timeout=120)
        ask(connection, "/api/v1/about")
        to_about = time.perf_counter() - began
        show("exec to the first answer (/about)", to_about * 1000, "ms")
        slowest = max(to_about, time_requests(connection, paths_of()))
        show("the slowest of them", slowest * 1000, "ms", "wanted: less than 1,000")
        with open(f"/proc/{inspect.process.pid}/status", encoding="ascii") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        show("resident", resident / 1024, "MiB")
        inspect.stop()


def paths_of_large(bases, end):
    last = bases[-1]

    def paths():
        at = "/api/v1/topics/large/partitions/0"
        yield "topics", "/api/v1/topics"
        yield "topic", "/api/v1/topics/large"
        yield "partition", at
        middle = bases[len(bases) // 2]
        yield "segment map, whole, 16,384 batches", f"{at}/segments/{bases[0]}/map"
        yield "segment map, whole, 104,857 batches", f"{at}/segments/{middle}/map"
        yield "segment map, the middle tenth", f"{at}/segments/{last}/map?from_position={GIB // 2}&to_position={GIB // 2 + GIB // 10}"
        yield "segment map, 1 MiB", f"{at}/segments/{last}/map?from_position={GIB // 4}&to_position={GIB // 4 + (1 << 20)}"
        yield "segment map, the active one, whole", f"{at}/segments/{last}/map"
        yield "batch in the middle", f"{at}/segments/{middle}/batches/{GIB // 2}"
        yield "index", f"{at}/segments/{middle}/index?from=50000"
        yield "records in the middle", f"{at}/records?offset={end // 2}"
        yield "look-up of an offset", f"{at}/lookup?offset={end // 2 + 7}"
        yield "look-up of a time", f"{at}/lookup?timestamp_ms={BASE_TIME + ARGUMENTS.gib // 2 * 60_000}"
        yield "retention", f"{at}/retention"
        yield "retention, what if", f"{at}/retention?retention_ms=3600000"
        yield "compaction", f"{at}/compaction"
        yield "keys", f"{at}/compaction/keys"
        yield "life of a record", f"{at}/records/{end // 2}/life"
        yield "groups", "/api/v1/groups"
    return paths


def paths_of_many():
    at = "/api/v1/topics/many-0/partitions/7"
    yield "topics", "/api/v1/topics"
    yield "topics by size", "/api/v1/topics?order=size"
    yield "topic of 1,000 partitions", "/api/v1/topics/many-0"
    yield "partition", at
    yield "an empty partition", "/api/v1/topics/many-0/partitions/999"
    yield "segment map", f"{at}/segments/0/map"
    yield "records", f"{at}/records?offset=0"
    yield "look-up of an offset", f"{at}/lookup?offset=0"
    yield "retention", f"{at}/retention"
    yield "compaction", f"{at}/compaction"
    yield "groups", "/api/v1/groups"
    yield "about", "/api/v1/about"


def bench_open():
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder:
        began = time.monotonic()
        data, bases, end = make_large(folder, ARGUMENTS.gib)
        used = sum(os.stat(os.path.join(at, name)).st_blocks * 512 for at, _, names in os.walk(data) for name in names)
        print(f"\n{ARGUMENTS.gib} segments of 1 GiB, {end:,} batches, {used / GIB:.1f} GiB on the disk (made in {time.monotonic() - began:.0f} s)")
        print(" closed well:")
        opened(folder, data, paths_of_large(bases, end), "clean")
        os.unlink(os.path.join(data, ".kafka_cleanshutdown"))
        print(" as after a crash:")
        opened(folder, data, paths_of_large(bases, end), "crashed")
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder:
        began = time.monotonic()
        data = make_many(folder, ARGUMENTS.partitions)
        print(f"\n{ARGUMENTS.partitions:,} partitions in {ARGUMENTS.partitions // 1000} topics (made in {time.monotonic() - began:.0f} s)")
        opened(folder, data, paths_of_many, "many")


# --- what a follower costs ---

def cpu_seconds(pid, only=None):
    """Of a process, or of its threads whose names begin with `only`."""
    def of(path):
        with open(path, encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if only is None:
        return of(f"/proc/{pid}/stat")
    total = 0.0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii", errors="replace") as f:
            if f.read().startswith(only):
                total += of(f"/proc/{pid}/task/{task}/stat")
    return total


class Page:
    """What an open page asks for, in a thread; it throws the answers away, as a browser elsewhere would take them."""

    def __init__(self, port, topic):
        self.port = port
        self.topic = topic
        self.ended = threading.Event()
        self.ticks = 0
        self.requests = 0
        self.threads = [threading.Thread(target=self.listen), threading.Thread(target=self.follow)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def listen(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
            s.sendall(f"GET /api/v1/events?topic={self.topic}&partition=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            while not self.ended.is_set():
                try:
                    piece = s.recv(1 << 16)
                except TimeoutError:
                    continue
                if not piece:
                    return
                self.ticks += piece.count(b"data: ")

    def follow(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        at = f"/api/v1/topics/{self.topic}/partitions/0"
        headers = {"Accept-Encoding": "gzip"}

        def get(path):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            self.requests += 1
            return answer.status, text
        tail, base = None, None
        while not self.ended.is_set():
            _, text = get(at)
            if not text.startswith(b"{"):
                text = gzip.decompress(text)
            found = re.findall(rb'"base":"(\d+)","next":"\d+","size_bytes":(\d+),"state":"active"', text)
            if found:
                base, tail = int(found[-1][0]), max(int(found[-1][1]) - TAIL_BYTES, 0)
                get(f"{at}/segments/{base}/map?from_position={tail}")
            self.ended.wait(FOLLOW_EVERY_S)
        connection.close()


def produce(broker, topic):
    """MB a second as the producer tells it, and CPU of the broker a MB in ms."""
    records = ARGUMENTS.mib * 1024
    before = cpu_seconds(broker.process.pid)
    done = subprocess.run([harness.binary(), "producer-perf-test", "--topic", topic, "--num-records", str(records), "--record-size", "1024",
                           "--throughput", "-1", "--bootstrap-server", broker.address(), "--producer-props", "acks=1", "batch.size=65536",
                           "linger.ms=5"],
                          capture_output=True, text=True, check=False, timeout=600)
    match = re.findall(r"\(([\d.]+) MB/sec\)", done.stdout)
    if done.returncode != 0 or not match:
        sys.exit(f"producer-perf-test: {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
    cpu = cpu_seconds(broker.process.pid) - before
    return float(match[-1]), cpu * 1000 / ARGUMENTS.mib


def bench_produce():
    overrides = {"cordwood.inspector.listener": "127.0.0.1:0", "log.retention.bytes": str(2 * GIB), "log.segment.bytes": str(256 << 20),
                 "log.retention.check.interval.ms": "1000", "log.segment.delete.delay.ms": "1000"}
    with tempfile.TemporaryDirectory(dir=ARGUMENTS.folder) as folder, harness.Cordwood(folder, overrides=overrides) as broker:
        broker.start()
        port = int(re.search(r"inspector at http://[^:]+:(\d+)", broker.output()).group(1))
        with wire.Connection(broker.port) as connection:
            wire.create_topic(connection, "followed", 1)
        produce(broker, "followed")
        rates, cpus, own, ticks, requests = [], [], 0.0, 0, 0
        alone, followed = [], []
        wall = 0.0
        print(f"\n{ARGUMENTS.pairs} pairs of {ARGUMENTS.mib} MiB in records of 1 KiB to one partition, acks=1")

        def with_page():
            nonlocal own, ticks, requests, wall
            began, before = time.monotonic(), cpu_seconds(broker.process.pid, "insp-")
            with Page(port, "followed") as page:
                result = produce(broker, "followed")
            wall += time.monotonic() - began
            own += cpu_seconds(broker.process.pid, "insp-") - before
            ticks += page.ticks
            requests += page.requests
            return result
        for i in range(ARGUMENTS.pairs):
            # Each side goes first as often as the other.
            if i % 2 == 0:
                without = produce(broker, "followed")
                with_it = with_page()
            else:
                with_it = with_page()
                without = produce(broker, "followed")
            alone.append(without)
            followed.append(with_it)
            rates.append(with_it[0] / without[0])
            cpus.append(with_it[1] / without[1])
            print(f"    alone {without[0]:8.1f} MB/s {without[1]:6.3f} ms of CPU a MB   followed {with_it[0]:8.1f} MB/s {with_it[1]:6.3f}   "
                  f"ratio {rates[-1]:.3f}, CPU {cpus[-1]:.3f}", flush=True)

        def spread(values):
            ordered = sorted(values)
            return f"from {ordered[0]:.3f} to {ordered[-1]:.3f}, quartiles {ordered[len(ordered) // 4]:.3f} and {ordered[-1 - len(ordered) // 4]:.3f}"
        show("throughput alone, median", statistics.median(rate for rate, _ in alone), "MB/s")
        show("throughput followed, median", statistics.median(rate for rate, _ in followed), "MB/s")
        show("ratio of throughput, median of the pairs", statistics.median(rates), "", spread(rates) + "; wanted: above 0.97")
        show("ratio of the broker's CPU a MB, median of the pairs", statistics.median(cpus), "", spread(cpus))
        show("the inspector's threads", own / wall * 100, "%", f"of a core: {own:.2f} s in {wall:.0f} s, {ticks} ticks, {requests} requests")
        broker.stop()


def main():
    os.environ["CORDWOOD_BINARY"] = os.path.abspath(os.environ.get("CORDWOOD_BINARY", os.path.join(ROOT, "build/bench/cordwood")))
    what = ARGUMENTS.what or ["open", "produce"]
    if "open" in what:
        bench_open()
    if "produce" in what:
        bench_produce()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="open|produce", help="all by default")
    parser.add_argument("--folder", help="where the directories are made; it should be on a disk")
    parser.add_argument("--gib", type=int, default=50)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--mib", type=int, default=1024)
    ARGUMENTS = parser.parse_args()
    main()
