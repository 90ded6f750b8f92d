"""Damage of every kind, on directories of several kinds: `cordwood verify` finds it, `cordwood repair` keeps every batch that is
still whole, and Apache Kafka 4.4.0 and Cordwood serve exactly these. What verify says that a start would do is what it does.

The directories are Kafka's own (tests/golden/kafka-4.4.0). What must be kept is known without our code: the batches of the undamaged
directory whose bytes are still found, whole, in a .log file of the damaged one. What is kept is read by the reader below. All
damaged directories are topics of one log directory, so that each broker starts once.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness  # noqa: E402
import wire  # noqa: E402
from harness import check, check_equal  # noqa: E402

GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")
KINDS = ["plain", "codec-zstd", "transactions", "rolled-size", "compacted-after-2", "compacted-txn-after-1", "kill-txn-after",
         "legacy-after"]
# Where nobody can tell: of gaps that compaction left, which one a batch comes from; and what a transaction held that it emptied.
UNKNOWABLE = {("compacted-after-2", "swapped-batches"), ("compacted-txn-after-1", "swapped-batches"), ("legacy-after", "swapped-batches"),
              ("compacted-txn-after-1", "txnindex-producer")}
NEVER = {"retention.ms": "-1", "retention.bytes": "-1"}


# --- an independent reader ---

def entries(data):
    """(base offset, bytes) of each batch, in the order of the file; fails on anything that is no whole and good batch."""
    at = 0
    while at < len(data):
        check(at + 17 <= len(data), f"{len(data) - at} bytes are left over")
        offset, length = struct.unpack(">qi", data[at:at + 12])
        entry = data[at:at + 12 + length]
        check(len(entry) == 12 + length, f"the batch at {at} is cut")
        if entry[16] == 2:
            check_equal(struct.unpack(">I", entry[17:21])[0], wire.crc32c(entry[21:]), f"checksum of the batch at {at}")
        else:
            check_equal(struct.unpack(">I", entry[12:16])[0], zlib.crc32(entry[16:]), f"checksum of the message at {at}")
        yield offset, entry
        at += len(entry)


def last_offset(offset, entry):
    return offset + struct.unpack(">i", entry[23:27])[0] if entry[16] == 2 else offset


def logs(files):
    return {name: files[name] for name in sorted(files) if name.endswith(".log")}


def read_log(files):
    """Every batch of a partition directory, as {base offset: bytes}."""
    found = {}
    last = -1
    for name, data in logs(files).items():
        check(int(name[:20]) > last, f"{name} begins below what is in the file before it")
        last = max(last, int(name[:20]) - 1)
        for offset, entry in entries(data):
            check(offset > last, f"offset {offset} of {name} does not follow {last}")
            last = last_offset(offset, entry)
            found[offset] = entry
    return found


def read_directory(path):
    files = {}
    for name in os.listdir(path):
        if os.path.isfile(os.path.join(path, name)):
            with open(os.path.join(path, name), "rb") as f:
                files[name] = f.read()
    return files


def write_directory(path, files):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    for name, data in files.items():
        with open(os.path.join(path, name), "wb") as f:
            f.write(data)


# --- damages: each changes `files` and answers the names that verify may blame, and the place in a .log when it can only be one ---

def flipped(data, at, mask=1):
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1:]


def starts(data):
    at = []
    position = 0
    for _, entry in entries(data):
        at.append(position)
        position += len(entry)
    return at + [position]


class Target:
    """A .log of the directory with at least three batches where there is one, and a batch in its middle."""

    def __init__(self, files, which):
        names = [name for name, data in logs(files).items() if data]
        self.name = {"first": names[0], "middle": names[len(names) // 2], "last": names[-1]}[which]
        self.data = files[self.name]
        self.starts = starts(self.data)
        n = (len(self.starts) - 1) // 2
        self.batch = n
        self.at = self.starts[n]
        self.end = self.starts[n + 1]


def log_damage(which, change, exact=True):
    def damage(files, _rng):
        target = Target(files, which)
        if which != "last" and target.name == Target(files, "last").name:
            return None
        files[target.name] = change(target)
        return [target.name], target.at if exact else None
    return damage


def flip_log(at, mask):
    return lambda t: flipped(t.data, t.at + at if at >= 0 else t.end + at, mask)


def zero(start, end):
    return lambda t: t.data[:start(t)] + bytes(end(t) - start(t)) + t.data[end(t):]


def swap_batches(t):
    if t.batch + 2 >= len(t.starts):
        return t.data + b"x"
    a, b, c = t.starts[t.batch:t.batch + 3]
    return t.data[:a] + t.data[b:c] + t.data[a:b] + t.data[c:]


LOG = {
    "body": flip_log(-1, 1), "crc": flip_log(17, 0x80), "length": flip_log(11, 0x10), "huge-length": flip_log(8, 0x40),
    "negative-length": flip_log(8, 0x80), "magic": flip_log(16, 0x40), "huge-offset": flip_log(1, 0x40), "negative-offset": flip_log(0, 0x80),
    "zeroed-header": zero(lambda t: t.at, lambda t: min(t.at + 40, t.end)),
    "zeroed-inside": zero(lambda t: t.end - 8, lambda t: t.end),
    "zeroed-to-end": zero(lambda t: t.at, lambda t: len(t.data)),
    "cut": lambda t: t.data[:t.end - 5],
}


def damages_of_logs():
    for which in ("first", "middle", "last"):
        for name, change in LOG.items():
            if which == "first" and name not in ("body", "huge-length", "zeroed-header", "cut"):
                continue
            yield f"{name}-{which}", log_damage(which, change)
    yield "twice-last", log_damage("last", lambda t: t.data[:t.end] + t.data[t.at:], exact=False)
    yield "swapped-batches", log_damage("last", swap_batches, exact=False)
    yield "garbage-behind", log_damage("last", lambda t: t.data + b"garbage that is no batch at all", exact=False)

    def random_file(files, rng):
        name = Target(files, "middle").name
        files[name] = rng.randbytes(len(files[name]))
        return [name], 0
    yield "random-file", random_file

    def foreign(files, _rng):
        name = Target(files, "last").name
        other = read_directory(partition_of("rolled-size"))
        if int(name[:20]) < 100:
            return None
        files[name] = other["00000000000000000022.log"]
        return [name], 0
    yield "foreign-log", foreign

    def missing(files, _rng):
        names = list(logs(files))
        if len(names) < 3:
            return None
        name = names[len(names) // 2]
        del files[name]
        return [name[:20] + suffix for suffix in (".index", ".timeindex", ".txnindex")], None
    yield "missing-log", missing

    def swapped(files, _rng):
        names = [name for name, data in logs(files).items() if data]
        if len(names) < 2:
            return None
        files[names[0]], files[names[1]] = files[names[1]], files[names[0]]
        return names[:2], 0
    yield "swapped-logs", swapped

    def renamed(files, _rng):
        names = [name for name, data in logs(files).items() if data]
        if len(names) < 2:
            return None
        new = f"{int(names[1][:20]) + 3:020d}.log"
        files[new] = files.pop(names[1])
        return [new] + [names[1][:20] + suffix for suffix in (".index", ".timeindex", ".txnindex")], None
    yield "renamed-log", renamed


def pick(files, suffix, least=1):
    names = [name for name in sorted(files) if name.endswith(suffix) and len(files[name]) >= least and any(files[name])]
    return names[len(names) // 2] if names else None


def small_damage(suffix, change, least=1):
    def damage(files, _rng):
        name = pick(files, suffix, least)
        if name is None:
            return None
        changed = change(files[name])
        if changed is None:
            del files[name]
        else:
            files[name] = changed
        return [name], None
    return damage


def damages_of_small_files():
    yield "index-flip", small_damage(".index", lambda d: flipped(d, 6, 0x10), 8)
    yield "index-offset", small_damage(".index", lambda d: bytes(4) + d[4:], 8)
    yield "index-cut", small_damage(".index", lambda d: d[:-3], 8)
    yield "index-missing", small_damage(".index", lambda d: None, 8)
    yield "index-garbage", small_damage(".index", lambda d: b"\x7f" * len(d), 8)
    yield "timeindex-flip", small_damage(".timeindex", lambda d: flipped(d, 3, 0x40), 12)
    yield "timeindex-cut", small_damage(".timeindex", lambda d: d[:-5], 12)
    yield "timeindex-missing", small_damage(".timeindex", lambda d: None, 12)
    yield "snapshot-flip", small_damage(".snapshot", lambda d: flipped(d, 5, 1), 10)
    yield "snapshot-cut", small_damage(".snapshot", lambda d: d[:7], 10)
    yield "snapshot-empty", small_damage(".snapshot", lambda d: b"", 10)
    yield "txnindex-version", small_damage(".txnindex", lambda d: flipped(d, 1, 2), 34)
    yield "txnindex-producer", small_damage(".txnindex", lambda d: flipped(d, 9, 2), 34)
    yield "txnindex-offset", small_damage(".txnindex", lambda d: flipped(d, 25, 0x40), 34)
    yield "txnindex-cut", small_damage(".txnindex", lambda d: d[:-1], 34)
    yield "epochs-garbage", small_damage("leader-epoch-checkpoint", lambda d: b"garbage")
    yield "epochs-version", small_damage("leader-epoch-checkpoint", lambda d: b"7" + d[1:])
    yield "epochs-empty", small_damage("leader-epoch-checkpoint", lambda d: b"0\n0\n")
    yield "partition-metadata", small_damage("partition.metadata", lambda d: b"version: 0\ntopic_id: ?\n")


# Only where compaction has not emptied the transactions is it known what a missing file must have held.
def txnindex_missing(files, _rng):
    name = pick(files, ".txnindex", 34)
    if name is None:
        return None
    del files[name]
    return [name], None


def partition_of(kind):
    data = os.path.join(GOLDEN, kind, "data")
    return os.path.join(data, next(name for name in os.listdir(data) if name.startswith("g-")))


class Case:
    def __init__(self, topic, kind, files, damaged, blamed, place):
        self.topic = topic
        self.kind = kind
        self.original = read_log(files)
        self.files = damaged
        self.blamed = blamed
        self.place = place
        content = list(logs(damaged).values())
        self.whole = {offset: entry for offset, entry in self.original.items() if any(entry in data for data in content)}
        self.kept = None


def make_cases():
    cases = []
    for kind in KINDS:
        golden = read_directory(partition_of(kind))
        every = [*damages_of_logs(), *damages_of_small_files()]
        if kind in ("transactions", "kill-txn-after"):
            every.append(("txnindex-missing", txnindex_missing))
        for name, damage in every:
            if (kind, name) in UNKNOWABLE:
                continue
            files = dict(golden)
            told = damage(files, random.Random(f"{kind} {name}"))
            if told is None or files == golden:
                continue
            cases.append(Case(f"{kind}.{name}", kind, golden, files, *told))
        cases.append(Case(f"{kind}.whole", kind, golden, golden, [], None))
    return cases


# --- the tools ---

def tool(*words):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, check=False)
    check(done.returncode in (0, 1, 2), f"cordwood {' '.join(words)}: {done.returncode}: {done.stderr[-1000:]}")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def by_directory(lines):
    found = {}
    for line in lines:
        found.setdefault(os.path.basename(line["directory"]), []).append(line)
    return found


def snapshot_of(root):
    return {os.path.relpath(os.path.join(folder, name), root): content
            for folder, _, _ in os.walk(root) for name, content in read_directory(folder).items() if name != ".lock"}


def check_found(case, lines, code):
    damages = [line for line in lines if line.get("weight") == "damage"]
    if not case.blamed:
        check_equal((code, damages), (0, []), f"{case.topic}: verify of a whole log")
        return
    check_equal(code, 1, f"{case.topic}: verify's exit code")
    mine = [line for line in damages if line["file"] in case.blamed]
    check(mine, f"{case.topic}: verify does not blame {case.blamed}: {damages}")
    if case.place is None:
        return
    mine.sort(key=lambda line: int(line["position"]))
    check_equal(int(mine[0]["position"]), case.place, f"{case.topic}: where the damage begins: {mine}")
    gone = sorted(set(case.original) - set(case.whole))
    if gone and "end_offset" in mine[0]:
        check(int(mine[0]["first_offset"]) <= gone[0] < int(mine[0]["end_offset"]), f"{case.topic}: offsets {gone} are gone: {mine[0]}")


def check_repaired(case, path, lines, dry):
    check_equal([line for line in dry if line["action"] != "mended"], [line for line in lines if line["action"] not in ("mended", "quarantine")],
                f"{case.topic}: what --dry-run said")
    files = read_directory(path)
    case.kept = read_log(files)
    for offset, entry in case.whole.items():
        check_equal(case.kept.get(offset), entry, f"{case.topic}: the whole batch at {offset}")
    for offset, entry in case.kept.items():
        check_equal(entry, case.original.get(offset), f"{case.topic}: the batch kept at {offset}")
    if case.kept == case.original and case.kind in ("transactions", "kill-txn-after") and list(logs(files)) == list(logs(case.files)):
        golden = read_directory(partition_of(case.kind))
        for name, data in golden.items():
            if name.endswith(".txnindex") and data:
                check_equal(files.get(name), data, f"{case.topic}: {name} after the repair")


def check_statements(name, before, found, after, again):
    """What verify said that a start of Cordwood would do, and what it did."""
    kept = any(file.startswith(f"{name}/damaged/cut-") for file in after)
    still = {line["file"] for line in again if line.get("weight") == "damage"}
    for line in found:
        if line.get("weight") != "damage":
            continue
        file = f"{name}/{line['file']}"
        was, now = before.get(file), after.get(file)
        if line["at_next_start"] == "passed over":
            held = now == was
        elif line["at_next_start"] == "removed":
            held = now is None
        elif line["at_next_start"] in ("cut", "kept"):
            held = was.startswith(now) and len(now) < len(was) and kept == (line["at_next_start"] == "kept")
        elif line["finding"] == "wrong entries" or line["file"].endswith(".txnindex"):
            # Made anew at the start, or as it was until a look-up meets it.
            held = now == was or line["file"] not in still
        else:
            held = now != was
        check(held, f"{file}: {line} did not come true: {len(was or b'')} bytes became {len(now or b'')}, kept: {kept}")


def fetch_all(connection, topic):
    """Every batch that a broker serves, as {base offset: bytes}."""
    deadline = time.monotonic() + 60
    while True:
        code, _, at = wire.list_offset(connection, topic, 0, -2)
        if code == 0:
            break
        check(time.monotonic() < deadline, f"{topic}: error {code}")
        time.sleep(0.2)
    end = wire.list_offset(connection, topic, 0, -1)[2]
    found = {}
    while at < end:
        code, _, data = wire.fetch(connection, topic, 0, at)
        check_equal(code, 0, f"fetch of {topic} at {at}")
        if not data:
            break
        for offset, entry in entries(data):
            found[offset] = entry
            at = last_offset(offset, entry) + 1
    return found


def check_served(broker, name, cases):
    with wire.Connection(broker.port) as connection:
        for case in cases:
            served = fetch_all(connection, case.topic)
            check_equal(sorted(served), sorted(case.kept), f"{name} serves of {case.topic}")
            check_equal(served, case.kept, f"{name} serves of {case.topic}")


def main():
    with harness.workspace("damage-repair") as folder:
        cases = make_cases()
        settings = {"log.cleaner.enable": "false", "log.retention.check.interval.ms": "3600000", "log.initial.task.delay.ms": "3600000"}
        data = os.path.join(folder, "data")
        with harness.Cordwood(folder, overrides=settings) as cordwood:
            cordwood.start()
            with wire.Connection(cordwood.port) as connection:
                for case in cases:
                    wire.create_topic(connection, case.topic, configs=NEVER)
            check_equal(cordwood.stop(), 0, "exit code")
        for case in cases:
            path = os.path.join(data, f"{case.topic}-0")
            identity = read_directory(path)["partition.metadata"]
            if case.files["partition.metadata"].startswith(b"version: 0\ntopic_id: ?"):
                identity = case.files["partition.metadata"]
            write_directory(path, {**case.files, "partition.metadata": identity})
        # One damaged line in a file of the log directory.
        with open(os.path.join(data, "replication-offset-checkpoint"), "w", encoding="ascii") as f:
            f.write(f"0\n2\n{cases[0].topic} 0 1\n\x01garbage\n")

        before = snapshot_of(data)
        code, lines, _ = tool("verify", data, "--json")
        check_equal(code, 1, "verify's exit code")
        found = by_directory(lines)
        check(any(line["file"] == "replication-offset-checkpoint" for line in found.get("data", [])), "verify finds no damaged checkpoint")
        for case in cases:
            alone, told, _ = tool("verify", os.path.join(data, f"{case.topic}-0"), "--json")
            check_found(case, told, alone)
            check_equal([l for l in told if "weight" in l], [l for l in found[f"{case.topic}-0"] if "weight" in l], f"{case.topic}: verify of one and of all")
        started = os.path.join(folder, "started")
        shutil.copytree(data, started)
        with harness.Cordwood(folder, log_dirs=[started], overrides=settings, name="cordwood-damaged") as cordwood:
            cordwood.start()
            check_equal(cordwood.stop(), 0, "exit code on the damaged directory")
        after = snapshot_of(started)
        again = by_directory(tool("verify", started, "--json")[1])
        for case in cases:
            name = f"{case.topic}-0"
            check_statements(name, before, found[name], after, again.get(name, []))

        dry_code, dry, _ = tool("repair", "--dry-run", data, "--json")
        check_equal(snapshot_of(data), before, "files after --dry-run")
        copy = os.path.join(folder, "copy")
        check_equal(tool("repair", data, "--output", copy, "--json")[0], dry_code, "exit code of repair --output")
        check_equal(snapshot_of(data), before, "files after repair --output")
        code, lines, errors = tool("repair", data, "--json")
        check_equal((code, dry_code, errors), (1, 1, ""), "repair")
        done, dry = by_directory(lines), by_directory(dry)
        for case in cases:
            name = f"{case.topic}-0"
            check_repaired(case, os.path.join(data, name), done.get(name, []), dry.get(name, []))
            check_equal(logs(read_directory(os.path.join(copy, name))), logs(read_directory(os.path.join(data, name))), f"{case.topic}: the mended copy")
            if not case.blamed:
                check_equal(read_directory(os.path.join(data, name)), {n[len(name) + 1:]: d for n, d in before.items() if n.startswith(name + "/")},
                            f"{case.topic}: a whole log")
        check_equal(tool("verify", data, "--json")[0], 0, "verify after repair")
        check_equal(tool("verify", copy, "--json")[0], 0, "verify of the mended copy")
        kept = os.path.join(f"{data}.quarantine", "000001")
        for name, content in before.items():
            aside = os.path.join(kept, name)
            if os.path.exists(aside):
                with open(aside, "rb") as f:
                    check_equal(f.read(), content, f"{name} in the quarantine")
            elif name.endswith(".log"):
                with open(os.path.join(data, name), "rb") as f:
                    check_equal(f.read(), content, f"{name}, which is not in the quarantine")
        check(os.path.exists(os.path.join(kept, "repair.jsonl")), "there is no report")

        with harness.Kafka(folder, overrides=settings) as kafka:
            kafka.start()
            check_served(kafka, "Kafka", cases)
            kafka.stop()
        with harness.Cordwood(folder, log_dirs=[copy], overrides=settings, name="cordwood-copy") as cordwood:
            cordwood.start()
            check_served(cordwood, "Cordwood", cases)
            check_equal(cordwood.stop(), 0, "exit code")
        print(f"{len(cases)} directories; of {sum(len(c.original) for c in cases)} batches {sum(len(c.whole) for c in cases)} were whole, "
              f"{sum(len(c.kept) for c in cases)} are kept")


if __name__ == "__main__":
    harness.run(main)
