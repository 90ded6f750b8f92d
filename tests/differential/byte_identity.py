"""The same produce requests to Apache Kafka and to Cordwood leave the same bytes: .log, .index, .timeindex, .snapshot and
leader-epoch-checkpoint, after a clean stop, for every codec and roll cause.

Compressed batches are those of Java's own codecs, from the golden directories.
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402
from harness import check, check_equal  # noqa: E402

T = 1_700_000_000_000
# So many requests are under way at a time. What lies in one buffer Cordwood writes together.
WINDOWS = (1, 5, 12, 2)
GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")


def golden_batches(case):
    """Every batch of a golden log as a client would have sent it: base offset 0, no leader epoch."""
    out = []
    data = os.path.join(GOLDEN, case, "data")
    for folder, _, names in sorted(os.walk(data)):
        for name in sorted(n for n in names if n.endswith(".log")):
            with open(os.path.join(folder, name), "rb") as f:
                for _, raw in wire.batches(f.read()):
                    out.append(struct.pack(">q", 0) + raw[8:12] + struct.pack(">i", -1) + raw[16:])
    check(out, f"no batches in {case}")
    return out


def plain(chance, count, step=50, size=(1, 200), **kw):
    out, at = [], T
    for _ in range(count):
        records = []
        for i in range(chance.randint(1, 6)):
            key = None if chance.random() < 0.2 else bytes(chance.randrange(256) for _ in range(chance.randint(0, 12)))
            value = None if chance.random() < 0.1 else os.urandom(0) + bytes(chance.randrange(256) for _ in range(chance.randint(*size)))
            records.append((key, value, i * 3 if chance.random() < 0.8 else 0))
        out.append(wire.batch(records, base_timestamp=at, **kw))
        at += chance.choice([0, step, step, -step, 10 * step])
    return out


def idempotent(chance, producers, count):
    out, sequences = [], {p: 0 for p in range(producers)}
    for i in range(count):
        p = chance.randrange(producers)
        n = chance.randint(1, 4)
        out.append(wire.batch([(b"k", b"v%d" % i)] * n, base_timestamp=T + i, producer_id=9000 + p, producer_epoch=0,
                              base_sequence=sequences[p]))
        sequences[p] += n
        if chance.random() < 0.15:
            out.append(out[-1])  # a retry: answered as a duplicate, not written
    return out


def scenarios(chance):
    small = {"internal.segment.bytes": "2000", "index.interval.bytes": "100"}
    long_ago = {"retention.ms": "-1", "message.timestamp.before.max.ms": str(2**63 - 1)}
    yield "plain", {**long_ago}, plain(chance, 60)
    yield "interval", {**long_ago, "index.interval.bytes": "0"}, plain(chance, 40)
    yield "rolled-size", {**long_ago, **small}, plain(chance, 120)
    yield "rolled-time", {**long_ago, "segment.ms": "1000", "index.interval.bytes": "200"}, plain(chance, 80, step=120)
    yield "rolled-index", {**long_ago, "segment.index.bytes": "40", "index.interval.bytes": "150"}, plain(chance, 90)
    yield "no-timestamps", {**long_ago, **small}, [
        wire.batch([(b"k", b"v" * chance.randint(1, 90))], base_timestamp=-1, max_timestamp=-1) for _ in range(60)]
    yield "idempotent", {**long_ago, **small}, idempotent(chance, 3, 150)
    yield "headers", {**long_ago}, [
        wire.batch([1], payload=wire.record(0, b"k", None, 0, [(b"h", b"x"), (b"h", None), (b"", b"")]), max_timestamp=T)]
    yield "wrong-max-timestamp", {**long_ago}, [wire.batch([(b"a", b"b", 7)], max_timestamp=T + 99999)] * 3
    yield "odd-attributes", {**long_ago}, [wire.batch([(b"a", b"b")], attributes=bits) for bits in (0x40, 0x80, 0x700, 8)]
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        yield f"codec-{codec}", {**long_ago, "index.interval.bytes": "1000"}, golden_batches(f"codec-{codec}")
        yield f"codec-{codec}-rolled", {**long_ago, "internal.segment.bytes": "12000", "index.interval.bytes": "500"}, \
            golden_batches(f"codec-{codec}")
    yield "from-golden-plain", {**long_ago, **small}, golden_batches("plain")
    yield "compacted", {**long_ago, "cleanup.policy": "compact"}, [
        wire.batch([(b"k%d" % i, b"v")], base_timestamp=T + i) for i in range(20)]
    yield "empty", {**long_ago}, []


def feed(broker, cases):
    answers = {}
    with wire.Connection(broker.port, timeout=60) as connection:
        for name, configs, sent in cases:
            wire.create_topic(connection, name, 1, configs)
        for name, _, sent in cases:
            answers[name] = []
            while len(answers[name]) < len(sent):
                window = WINDOWS[len(answers[name]) % len(WINDOWS)]
                answers[name] += wire.produce_ahead(connection, name, 0, sent[len(answers[name]):][:window])
    return answers


def files_of(directory, topic):
    folder = os.path.join(directory, f"{topic}-0")
    out = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith((".log", ".index", ".timeindex", ".snapshot", ".txnindex")) or name == "leader-epoch-checkpoint":
            with open(os.path.join(folder, name), "rb") as f:
                out[name] = f.read()
    return out


def main():
    seed = int(os.environ.get("CORDWOOD_SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    cases = list(scenarios(random.Random(seed)))
    with harness.workspace("identity") as folder:
        ours_dir, theirs_dir = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
        with harness.Kafka(folder, [theirs_dir]).format() as kafka, harness.Cordwood(folder, [ours_dir]) as cordwood:
            cordwood.start()
            ours = feed(cordwood, cases)
            check_equal(cordwood.stop(), 0, "exit code of Cordwood")
            kafka.start()
            theirs = feed(kafka, cases)
            kafka.stop()
        segments = wrong = 0
        for name, _, sent in cases:
            check_equal(ours[name], theirs[name], f"answers to the {len(sent)} produces of {name}")
            a, b = files_of(ours_dir, name), files_of(theirs_dir, name)
            if sorted(a) != sorted(b):
                wrong += 1
                print(f"{name}: files differ: ours {sorted(a)}, Kafka's {sorted(b)}")
                continue
            for file in a:
                segments += file.endswith(".log")
                if a[file] != b[file]:
                    wrong += 1
                    at = next((i for i, (x, y) in enumerate(zip(a[file], b[file])) if x != y), min(len(a[file]), len(b[file])))
                    print(f"{name}/{file}: differs at byte {at}: ours {len(a[file])} bytes …{a[file][at:at+16].hex()}, "
                          f"Kafka's {len(b[file])} bytes …{b[file][at:at+16].hex()}")
        check_equal(wrong, 0, "files that differ")
        print(f"{len(cases)} topics, {segments} segments, {sum(len(s) for _, _, s in cases)} produces: all files identical")


if __name__ == "__main__":
    harness.run(main)
