"""How fast are the tools that look at files, and the commands' starts, beside Kafka's?

  offline_tools.py [--mib N] [--runs N] [--folder DIR] [--compare]

verify       GB a CPU second over a log in the page cache, one thread
dump         CPU seconds of `dump-log --print-data-log` and of kafka-dump-log over the same log
find         CPU and wall seconds of `find` over it, by key, expression and offsets
repair       CPU seconds of `repair --dry-run` over it with one bit flipped
start        wall time of --version, ours and Kafka's, the two taking turns

The log holds the flights (examples/flights) again and again in batches of 100 records. With --compare the two dumps must be the
same, line by line. CPU seconds are those of the whole process; they stay comparable when others are at work.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "examples", "flights"))
import flights  # noqa: E402
import harness  # noqa: E402
import wire  # noqa: E402

JAVA = ["java", "-Xmx1G", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]


def measured(command, out=None, codes=(0,)):
    """CPU seconds and wall seconds of a process."""
    begun = time.monotonic()
    with open(out or os.devnull, "wb") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"{command}: {process.returncode}: {errors.decode()[-1000:]}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begun


def make_log(path, mib):
    """Batches of 100 flights, with the offsets of one log."""
    templates = []
    batch = []
    for _, key, value, _ in flights.records():
        batch.append((key, value))
        if len(batch) == 100:
            templates.append(wire.batch(batch, base_timestamp=1_700_000_000_000))
            batch = []
        if len(templates) == 200:
            break
    offset = 0
    with open(path, "wb") as f:
        while f.tell() < mib << 20:
            for template in templates:
                f.write(offset.to_bytes(8, "big") + template[8:])
                offset += 100
    return os.path.getsize(path)


def best(runs, command, **options):
    return min(measured(command, **options) for _ in range(runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    ours = harness.binary()
    kafka = [*JAVA, "-cp", f"{harness.kafka_libs()}/*"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        partition = os.path.join(folder, "flights-0")
        os.mkdir(partition)
        log = os.path.join(partition, "00000000000000000000.log")
        size = make_log(log, arguments.mib)
        gb = size / 1e9
        print(f"a log of {gb:.2f} GB")
        measured(["cat", log])
        cpu, wall = best(arguments.runs, [ours, "verify", "--threads", "1", log], codes=(0, 1))
        print(f"verify: {gb / cpu:.2f} GB a CPU second ({cpu:.2f} s of CPU, {wall:.2f} s)")
        for name, words in (("key", ["--key", "N14228"]), ("expression", ["--value-matches", "needle-[0-9]+"]),
                            ("offsets", ["--from-offset", "1000", "--to-offset", "2000"])):
            cpu, wall = best(arguments.runs, [ours, "find", partition, "--count", *words])
            print(f"find by {name}: {cpu:.2f} s of CPU, {wall:.2f} s")
        own_text, their_text = (os.path.join(folder, name) if arguments.compare else None for name in ("ours.txt", "kafka.txt"))
        words = ["--print-data-log", "--files", log]
        own, own_wall = best(1, [ours, "dump-log", *words], out=own_text)
        theirs, their_wall = best(1, [*kafka, "org.apache.kafka.tools.DumpLogSegments", *words], out=their_text)
        print(f"dump with data: cordwood {own:.2f} s of CPU ({own_wall:.2f} s), kafka {theirs:.2f} ({their_wall:.2f}), ratio {theirs / own:.1f}")
        if arguments.compare:
            with open(own_text, "rb") as a, open(their_text, "rb") as b:
                lines = 0
                for x, y in zip(a, b, strict=True):
                    lines += 1
                    if x != y:
                        sys.exit(f"line {lines}: {x!r} instead of {y!r}")
            print(f"the two dumps are the same, {lines} lines")
        with open(log, "r+b") as f:
            f.seek(size // 2)
            byte = f.read(1)
            f.seek(size // 2)
            f.write(bytes([byte[0] ^ 1]))
        cpu, wall = best(1, [ours, "repair", "--dry-run", partition], codes=(1,))
        print(f"repair --dry-run: {cpu:.2f} s of CPU, {wall:.2f} s")
        for name, main_class in (("dump-log", "org.apache.kafka.tools.DumpLogSegments"), ("topics", "org.apache.kafka.tools.TopicCommand"),
                                 ("storage", "kafka.tools.StorageTool")):
            word = "--version" if name != "storage" else "random-uuid"
            times = {"ours": [], "kafka": []}
            for _ in range(arguments.runs):
                times["ours"].append(measured([ours, name, word]))
                times["kafka"].append(measured([*kafka, main_class, word]))
            own, theirs = (min(times[side]) for side in ("ours", "kafka"))
            walls = [statistics.median(wall for _, wall in times[side]) for side in ("ours", "kafka")]
            print(f"start of {name}: cordwood {own[0] * 1000:.0f} ms of CPU, kafka {theirs[0] * 1000:.0f}, ratio {theirs[0] / max(own[0], 0.001):.0f} (wall {walls[1] / walls[0]:.0f})")
    print(f"peak memory of a tool: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB (Kafka's included)")


if __name__ == "__main__":
    main()
