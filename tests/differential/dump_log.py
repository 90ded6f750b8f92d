"""kafka-dump-log prints what Kafka's own tool prints, to the byte: exit code, stdout, stderr.

Every file of the golden directories with every option that changes what is printed; the same files damaged (bits, cut ends,
zeros, other magic and lengths); internal topics through every decoder, also with damaged records; mistakes in the words. One
JVM runs org.apache.kafka.tools.DumpLogSegments for all of them; ours runs as a process each. Stack frames are left out.
What may differ: the text of a decompressor's complaint, and the identity of a Java object.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBS = os.environ.get("CORDWOOD_KAFKA_LIBS", os.path.join(ROOT, "build/tools/kafka-libs"))
BINARY = os.path.abspath(os.environ.get("CORDWOOD_BINARY", os.path.join(ROOT, "build/debug/cordwood")))
GOLDEN = os.path.abspath(os.environ.get("CORDWOOD_GOLDEN", os.path.join(ROOT, "tests/golden/kafka-4.4.0")))
KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
DECODERS = {"__consumer_offsets": "--offsets-decoder", "__transaction_state": "--transaction-log-decoder",
            "__cluster_metadata": "--cluster-metadata-decoder", "__share_group_state": "--share-group-state-decoder"}


COMPLAINT = b"(complaint about compressed or cut data)"


class Kafka:
    def __init__(self, folder):
        self.process = subprocess.Popen(
            ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", "-cp", f"{LIBS}/*",
             os.path.join(HERE, "KafkaDumps.java")], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)

    def run(self, words):
        self.process.stdin.write("\x1f".join(words).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the JVM is gone")
        code, out, err = (int(n) for n in line.split())
        return code, self.process.stdout.read(out), self.process.stdout.read(err)


def ours(folder, words):
    done = subprocess.run([BINARY, "dump-log"] + words, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def comparable(answer):
    """What must be equal. Of a batch that does not decompress as a whole Kafka shows nothing, and neither do we; how it says
    so hangs on the codec and on how far its stream got."""
    code, out, err = answer
    out = re.sub(rb"\[B@[0-9a-f]+", b"[B@", out)
    if re.search(rb"^Exception.*(Failed to decompress|ZipException|snappy|Snappy|Zstd|zstd|Stream frame|LZ4|lz4|EOFException|BROKEN|"
                 rb"KafkaException: java.io|Failed to load record batch|"
                 rb"Error checking for remaining bytes)", err, re.M):
        err = COMPLAINT
    # The option table is in our own words.
    err = re.split(rb"\nOption |\n +--", err + b"\n")[0].strip()
    return code, out, err


class Run:
    def __init__(self, folder, kafka):
        self.folder, self.kafka = folder, kafka
        self.done, self.differences, self.by_topic = 0, 0, {}

    def compare(self, topic, words):
        before = set(os.listdir(self.folder))
        mine = comparable(ours(self.folder, words))
        theirs = comparable(self.kafka.run(words))
        if mine[2] == COMPLAINT and theirs[0] == 1:
            theirs = (*theirs[:2], COMPLAINT)  # its stream came to a record that is none before it came to the bad bytes
        for made in set(os.listdir(self.folder)) - before:
            os.remove(os.path.join(self.folder, made))
        self.done += 1
        self.by_topic[topic] = self.by_topic.get(topic, 0) + 1
        if mine == theirs:
            return
        self.differences += 1
        if self.differences > 40:
            return
        print(f"--- {topic}: {' '.join(words)}")
        for name, a, b in zip(("exit", "stdout", "stderr"), mine, theirs):
            if a == b:
                continue
            if name == "exit":
                print(f"    exit: ours {a}, Kafka's {b}")
                continue
            mine_lines, their_lines = a.split(b"\n"), b.split(b"\n")
            for i in range(max(len(mine_lines), len(their_lines))):
                x = mine_lines[i] if i < len(mine_lines) else b"(end)"
                y = their_lines[i] if i < len(their_lines) else b"(end)"
                if x != y:
                    print(f"    {name} line {i + 1}\n      ours    {x[:600].decode(errors='replace')}\n"
                          f"      Kafka's {y[:600].decode(errors='replace')}")
                    break


def options_of(name, topic):
    if name.endswith((".log", ".checkpoint")):
        options = [[], ["--deep-iteration"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"], ["--max-bytes", "150"]]
        options += [[decoder] for start, decoder in DECODERS.items() if topic.startswith(start)]
        return options
    if name.endswith((".index", ".timeindex")):
        return [[], ["--verify-index-only"], ["--index-sanity-check"], ["--max-message-size", "100"]]
    return [[]]


def flip(chance, data):
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:]


def damaged(chance, name, data, count):
    """Variants of a file that something happened to."""
    if not data:
        return
    for _ in range(count):
        yield flip(chance, data)
    for _ in range(max(2, count // 4)):
        yield data[:chance.randrange(len(data))]
    yield data + bytes(chance.choice((3, 17, 100)))
    yield data + data[:chance.randrange(len(data))]
    if name.endswith((".log", ".checkpoint")) and len(data) > 61:
        starts, at = [], 0
        while at + 12 <= len(data):
            starts.append(at)
            at += 12 + max(0, int.from_bytes(data[at + 8:at + 12], "big", signed=True))
        for magic in (0, 1, 3, 127, 255):
            at = chance.choice(starts)
            yield data[:at + 16] + bytes([magic]) + data[at + 17:]
        for length in (-1, 0, 13, 14, 48, 49, 60, 1 << 20, 0x7fffffff):
            at = chance.choice(starts)
            yield data[:at + 8] + length.to_bytes(4, "big", signed=True) + data[at + 12:]
        for at in starts[:4]:  # counts and attributes, which sizes hang on
            for field, size in ((57, 4), (21, 2), (43, 8)):
                yield data[:at + field] + chance.randbytes(size) + data[at + field + size:]


def golden_files():
    for folder, _, names in sorted(os.walk(GOLDEN)):
        if os.sep + "expect" in folder:
            continue
        for name in sorted(names):
            if name.endswith(KINDS):
                yield os.path.join(folder, name)


def main():
    seed = int(os.environ.get("CORDWOOD_SEED", "1"))
    per_file = int(os.environ.get("CORDWOOD_DAMAGES", "6"))
    print(f"seed {seed}")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="dump-log-") as folder:
        kafka = Kafka(folder)
        run = Run(folder, kafka)
        files = list(golden_files())
        if len(files) < 100:
            sys.exit(f"only {len(files)} golden files in {GOLDEN}")
        seen = set()
        for number, path in enumerate(files):
            name, topic = os.path.basename(path), os.path.basename(os.path.dirname(path))
            # The file and its neighbours, which the checks of indexes read.
            for old in os.listdir(folder):
                os.remove(os.path.join(folder, old))
            for other in os.listdir(os.path.dirname(path)):
                if other.startswith(name.split(".")[0].split("-")[0]) and os.path.isfile(os.path.join(os.path.dirname(path), other)):
                    shutil.copyfile(os.path.join(os.path.dirname(path), other), os.path.join(folder, other))
            if not os.path.exists(os.path.join(folder, name)):
                shutil.copyfile(path, os.path.join(folder, name))
            with open(path, "rb") as file:
                data = file.read()
            key = (name.split(".")[-1], data)
            if key in seen:
                continue
            seen.add(key)
            for options in options_of(name, topic):
                run.compare("golden", ["--files", name] + options)
            if number % 3 == 0 or any(topic.startswith(t) for t in DECODERS):
                target = os.path.join(folder, name)
                for variant in damaged(chance, name, data[:6000], per_file):
                    with open(target, "wb") as file:
                        file.write(variant)
                    run.compare("damaged " + os.path.splitext(name)[1], ["--files", name] + chance.choice(options_of(name, topic)))
        for words in ([], ["--help"], ["--version"], ["--print-data-log"], ["--files", "a.log", "--foo"], ["--files"],
                      ["--files", "none/00000000000000000000.log"], ["--files", "foo.log"], ["--files", "foo"], ["--files", ""],
                      ["--files", "a.txt,,b.txt,"], ["--files", "00000000000000000000.log", "--max-bytes", "x"], ["--files", "x.checkpoint"],
                      ["--files", "a/b//c.txt/"], ["--files", "a.txt", "--files", "b.txt"], ["--files", "x.snapshot"],
                      ["--files", "00000000000000000000.index"], ["--files", "x.txnindex"], ["--files", "00000000000000000007.txnindex"],
                      ["--files", "00000000000000000000.log", "--value-decoder-class", "no.Such"],
                      ["--files", "00000000000000000000.log", "--key-decoder-class"],
                      ["--files", "bootstrap.checkpoint"], ["--files", "00000000000000000000-000000000x.checkpoint"]):
            run.compare("words", words)
        for topic, count in sorted(run.by_topic.items()):
            print(f"{topic}: {count} command lines")
        print(f"{run.done} command lines, {run.differences} differences")
        if os.environ.get("CORDWOOD_SEED") is None and run.done < 800:
            sys.exit("too few cases to mean anything")
        sys.exit(1 if run.differences else 0)


if __name__ == "__main__":
    main()
