#!/usr/bin/env python3
"""Runs the benchmarks of Cordwood and of Apache Kafka's own engine side by side and prints the ratios.

  run.py [append] [lookup] [open] [recover] [compact] [retention] [find] [start] [flush]     all of them by default
  --rounds N      how often each side runs, taking turns (5); medians are compared
  --folder DIR    where the data goes (a temporary folder in build/bench): a disk, not a tmpfs

Both engines get the same batches, one core each (the same one), and the page cache; nothing is fsynced, but by flush and
compact: there the wall clock is the disk's, so run flush on a real one, with every core. Kafka's JVM has
the options of kafka-run-class and kafka-server-start and is warmed up before anything is measured. CPU time is of the
whole process, compiler and collector threads included; on a machine that does other things as well, trust it before
the wall clock. Everything measured is also written to build/bench/results.json.

In a virtual machine memory that the guest has not touched yet, or has given back, costs a fault of the host per page of
the page cache: up to several times what an append costs, alike for both sides, which hides what the engines do. So both
write as much to a log that they then delete as they append to the one that is measured.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Kafka, Process, free_port, kafka_libs  # noqa: E402

BUILD = os.environ.get("CORDWOOD_BENCH_BUILD", os.path.join(ROOT, "build/bench"))
PROGRAMS = os.path.join(BUILD, "bench")
CLASSES = os.path.join(BUILD, "kafka-classes")
JVM = ["java", "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
       "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"]
ONE_CORE = ["taskset", "-c", "0"]

# (name, batches in the file, records per batch, bytes per value, appends to warm up with, appends)
SHAPES = [
    ("16 KiB batch, 1 KiB records", 64, 16, 1010, 60_000, 60_000),
    ("16 KiB batch, 100 B records", 64, 152, 100, 60_000, 60_000),
    ("one record of 100 B", 64, 1, 100, 500_000, 500_000),
]
# Requests for one partition that a loop reads in one turn are written together, so many of them here. Kafka's request
# handlers append each by itself, however they came.
TOGETHER = 8


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def program(name, *arguments):
    return run([*ONE_CORE, os.path.join(PROGRAMS, name), *map(str, arguments)])


def engine(*arguments):
    classpath = f"{CLASSES}:{kafka_libs()}/*"
    return run([*ONE_CORE, *JVM, "-cp", classpath, "KafkaEngineBench", *map(str, arguments)])


def compile_engine():
    os.makedirs(CLASSES, exist_ok=True)
    sources = [os.path.join(ROOT, "bench/kafka", name) for name in ("KafkaEngineBench.java", "KafkaCleanerBench.java")]
    subprocess.run(["javac", "-cp", f"{kafka_libs()}/*", "-d", CLASSES, *sources], check=True)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def show(what, ours, theirs, unit, better):
    ratio = theirs / ours if better == "lower" else ours / theirs
    print(f"  {what:<44} {ours:>12,.2f} {theirs:>12,.2f} {unit:<12} {ratio:>7.2f} x better")


def heading(text):
    print(f"\n{text}\n  {'':<44} {'Cordwood':>12} {'Kafka':>12}")


def bench_append(folder, rounds, results):
    heading("append to one partition, one core (validation included)")
    for name, batches, records, value, warm_up, count in SHAPES:
        file = os.path.join(folder, "batches")
        run([os.path.join(PROGRAMS, "make_batches"), file, str(batches), str(records), str(value)])
        ours, together, theirs = [], [], []
        for _ in range(rounds):
            ours += program("append_bench", folder, file, warm_up, count, 1)
            together += program("append_bench", folder, file, warm_up, count, TOGETHER)
            theirs += engine("append", folder, file, warm_up, count)
        results.append({"bench": "append", "shape": name, "cordwood": ours, "together": together, "kafka": theirs})
        for side in (ours, together, theirs):
            for row in side:
                row["per_s"] = row["appends"] / row["wall_s"]
                row["mb_per_s"] = row["bytes"] / row["wall_s"] / 1e6
                row["per_cpu_s"] = row["appends"] / row["cpu_s"]
        show(name, median(ours, "per_s"), median(theirs, "per_s"), "appends/s", "higher")
        show("", median(ours, "mb_per_s"), median(theirs, "mb_per_s"), "MB/s", "higher")
        show("  per second of CPU", median(ours, "per_cpu_s"), median(theirs, "per_cpu_s"), "appends/s", "higher")
        show(f"  {TOGETHER} in a turn of the loop", median(together, "per_s"), median(theirs, "per_s"), "appends/s", "higher")
        show("    per second of CPU", median(together, "per_cpu_s"), median(theirs, "per_cpu_s"), "appends/s", "higher")


def bench_lookup(folder, rounds, results):
    heading("look-ups in a segment of 1 GiB in the page cache")
    directory = os.path.join(folder, "lookup-0")
    program("lookup_bench", "make", directory)
    ours, theirs = [], []
    for _ in range(rounds):
        ours += program("lookup_bench", "run", directory, 20_000, 100_000)
        # Kafka's close leaves the index files at full length, which the next open would take for entries: new copies for
        # each round. The .log is only read.
        theirs_directory = os.path.join(folder, "kafka", "lookup-0")
        shutil.copytree(directory, theirs_directory, copy_function=lambda source, target:
                        (os.link if source.endswith(".log") else shutil.copy)(source, target))
        theirs += engine("lookup", theirs_directory, 100_000, 100_000)
        shutil.rmtree(theirs_directory)
    shutil.rmtree(directory)
    results.append({"bench": "lookup", "cordwood": ours, "kafka": theirs})
    for bench, words in (("read_by_offset", "find and read 16 KiB by offset"), ("find_by_time", "find a record by time")):
        for key in ("p50_us", "p99_us", "p999_us"):
            show(f"{words}, {key[:-3]}", median([r for r in ours if r["bench"] == bench], key),
                 median([r for r in theirs if r["bench"] == bench], key), "us", "lower")


def bench_open(folder, rounds, results, logs=1000):
    heading(f"opening {logs} partitions after a clean stop, one after the other")
    made = os.path.join(folder, "open")
    program("open_bench", "make", made, logs)
    copy = os.path.join(folder, "open-kafka")  # Kafka's close adds files
    shutil.copytree(made, copy)
    ours = program("open_bench", "run", made, rounds)
    theirs = engine("open", copy, rounds + 2)[2:]  # the first two warm the JVM up
    shutil.rmtree(made)
    shutil.rmtree(copy)
    results.append({"bench": "open", "cordwood": ours, "kafka": theirs})
    show("all of them", median(ours, "wall_s") * 1e3, median(theirs, "wall_s") * 1e3, "ms", "lower")


def bench_recover(folder, rounds, results):
    heading("a log of 1 GiB, in the page cache, one core")
    directory = os.path.join(folder, "recover-0")
    program("lookup_bench", "make", directory)
    ours = program("recovery_bench", "recover", directory, rounds + 1)[1:]
    theirs = engine("recover", directory, rounds + 2)[2:]  # the first two warm the JVM up
    index = program("recovery_bench", "index", directory, rounds)
    shutil.rmtree(directory)
    if {(row["bytes"], row["end"]) for row in ours + theirs + index} != {(ours[0]["bytes"], ours[0]["end"])}:
        sys.exit(f"the two do not find the same log: {ours + theirs + index}")
    results.append({"bench": "recover", "cordwood": ours, "kafka": theirs, "index": index})
    for side in (ours, theirs):
        for row in side:
            row["gb_per_s"] = row["bytes"] / row["wall_s"] / 1e9
            row["gb_per_cpu_s"] = row["bytes"] / row["cpu_s"] / 1e9
    show("checked after an unclean stop", median(ours, "gb_per_s"), median(theirs, "gb_per_s"), "GB/s", "higher")
    show("  per second of CPU", median(ours, "gb_per_cpu_s"), median(theirs, "gb_per_cpu_s"), "GB/s", "higher")
    print(f"  {'a missing index made anew (Cordwood alone)':<44} {median(index, 'wall_s') * 1e3:>12,.2f} ms, "
          f"{median(index, 'cpu_s') * 1e3:,.2f} ms of CPU")


# (name, records, keys, bytes per value)
COMPACTIONS = [
    ("records of 100 B, a quarter stays", 4_000_000, 1_000_000, 100),
    ("records of 1 KiB, a quarter stays", 600_000, 150_000, 1010),
]


def bench_compact(folder, rounds, results):
    heading("compaction of a log that was never cleaned, one core")
    for name, records, keys, value in COMPACTIONS:
        made = os.path.join(folder, "made-0")
        program("compaction_bench", "make", made, records, keys, value)
        ours, theirs = [], []
        for _ in range(rounds):
            copies = [os.path.join(folder, f"{copy}-0") for copy in ("warm", "measured")]
            classpath = f"{CLASSES}:{kafka_libs()}/*"
            for side, command in ((ours, [os.path.join(PROGRAMS, "compaction_bench"), "run"]),
                                  (theirs, [*JVM, "-cp", classpath, "KafkaCleanerBench"])):
                for copy in copies:
                    shutil.copytree(made, copy)
                os.sync()  # what the copies left to be written would be waited for by the first fsync
                side += run([*ONE_CORE, *command, *copies])
                for copy in copies:
                    shutil.rmtree(copy)
        shutil.rmtree(made)
        if {(row["kept"], row["end"]) for row in ours + theirs} != {(ours[0]["kept"], ours[0]["end"])}:
            sys.exit(f"the two do not keep the same records: {ours + theirs}")
        results.append({"bench": "compact", "shape": name, "cordwood": ours, "kafka": theirs})
        for side in (ours, theirs):
            for row in side:
                row["per_s"] = row["records"] / row["wall_s"]
                row["per_cpu_s"] = row["records"] / row["cpu_s"]
        show(name, median(ours, "per_s"), median(theirs, "per_s"), "records/s", "higher")
        show("  per second of CPU", median(ours, "per_cpu_s"), median(theirs, "per_cpu_s"), "records/s", "higher")


def bench_retention(folder, rounds, results, logs=10_000, segments=3):
    print(f"\nretention check of {logs} partitions of {segments} segments, nothing due (Cordwood alone)")
    ours = program("retention_bench", logs, segments, rounds)
    results.append({"bench": "retention", "cordwood": ours})
    print(f"  {'one check':<44} {median(ours, 'wall_s') * 1e3:>12,.2f} ms")


def bench_find(folder, rounds, results, mib=1024):
    print(f"\nsearch of {mib} MiB in the page cache by all cores (Cordwood alone)")
    ours = program("find_bench", os.path.join(folder, "find"), mib, rounds)
    results.append({"bench": "find", "cordwood": ours})
    for what in dict.fromkeys(row["what"] for row in ours):
        rows = [row for row in ours if row["what"] == what]
        print(f"  {what:<44} {median(rows, 'wall_s'):>12,.2f} s   {median(rows, 'cpu_s'):>8,.2f} s of CPU")


class OurProcess(Process):
    def __init__(self, folder, port, overrides):
        super().__init__(os.path.join(folder, "cordwood.log"))
        self.port = port
        self.command = [os.path.join(BUILD, "cordwood"), "broker"]
        settings = {"log.dirs": os.path.join(folder, "data"), "listeners": f"PLAINTEXT://127.0.0.1:{port}", **overrides}
        for key, value in settings.items():
            self.command += ["--override", f"{key}={value}"]


class TheirProcess(Kafka):
    def __init__(self, folder, port, overrides):
        super().__init__(folder, overrides=overrides)
        self.port = port
        self.format()
        self.command = [*JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", f"{kafka_libs()}/*", "kafka.Kafka",
                        self.write_properties()]


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def start_once(make, folder, rest_s):
    """Starts a broker on an empty (Kafka: freshly formatted) directory. Milliseconds from the start of the process to a
    connection and to the end of a consumer group's first round trip; resident memory at rest before and after it."""
    overrides = {"group.initial.rebalance.delay.ms": "0"}
    row = {}
    broker = make(folder, free_port(), overrides)
    with open(broker.log, "ab") as out:
        began = time.monotonic()
        broker.process = subprocess.Popen(broker.command, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        with broker:
            client = subprocess.Popen([os.path.join(PROGRAMS, "first_round_trip"), str(broker.port), "120"],
                                      stdout=subprocess.PIPE, text=True)
            launched_ms = (time.monotonic() - began) * 1e3
            steps, _ = client.communicate()
            if client.returncode != 0:
                sys.exit(f"the round trip failed; the broker said:\n{broker.output()[-3000:]}")
            row.update({key: value + launched_ms for key, value in json.loads(steps).items()})
            time.sleep(rest_s)
            row["rss_kib"] = resident_kib(broker.process.pid)
            began = time.monotonic()
            broker.stop()
            row["stop_ms"] = (time.monotonic() - began) * 1e3
    return row


def bench_start(folder, rounds, results):
    heading("from exec to serving, on an empty directory")
    ours, theirs = [], []
    for i in range(rounds):
        for side, make in ((ours, OurProcess), (theirs, TheirProcess)):
            own = os.path.join(folder, f"start-{make.__name__}-{i}")
            os.makedirs(own)
            side.append(start_once(make, own, 2))
            shutil.rmtree(own)
    results.append({"bench": "start", "cordwood": ours, "kafka": theirs})
    show("takes connections", median(ours, "connected_ms"), median(theirs, "connected_ms"), "ms", "lower")
    show("has served a consumer group once", median(ours, "committed_ms"), median(theirs, "committed_ms"), "ms", "lower")
    show("resident memory at rest after that", median(ours, "rss_kib") / 1024, median(theirs, "rss_kib") / 1024, "MiB", "lower")
    show("clean stop", median(ours, "stop_ms"), median(theirs, "stop_ms"), "ms", "lower")


# (connections, partitions)
FLUSHES = [(1, 1), (16, 1), (16, 16), (64, 1), (64, 64)]


def bench_flush(folder, rounds, results, warm_up=5, seconds=5):
    heading("acknowledgements with flush.messages=1 (connections on partitions)")
    both = {shape: ([], []) for shape in FLUSHES}
    for i in range(rounds):
        for side, make in enumerate((OurProcess, TheirProcess)):
            own = os.path.join(folder, f"flush-{make.__name__}-{i}")
            os.makedirs(own)
            broker = make(own, free_port(), {})
            with open(broker.log, "ab") as out:
                broker.process = subprocess.Popen(broker.command, stdout=out, stderr=subprocess.STDOUT, cwd=own)
            with broker:
                run([os.path.join(PROGRAMS, "first_round_trip"), str(broker.port), "120"])  # it serves
                for shape in FLUSHES:
                    client = [os.path.join(PROGRAMS, "flush_bench"), broker.port, *shape, warm_up, seconds]
                    both[shape][side].extend(run([str(word) for word in client]))
                broker.stop()
            shutil.rmtree(own)
    for shape, (ours, theirs) in both.items():
        results.append({"bench": "flush", "shape": shape, "cordwood": ours, "kafka": theirs})
        show(f"{shape[0]} on {shape[1]}", median(ours, "per_s"), median(theirs, "per_s"), "acks/s", "higher")
        show("  median time of one", median(ours, "p50_ms"), median(theirs, "p50_ms"), "ms", "lower")


def main():
    benches = {"append": bench_append, "lookup": bench_lookup, "open": bench_open, "recover": bench_recover,
               "compact": bench_compact, "retention": bench_retention, "find": bench_find,
               "start": bench_start, "flush": bench_flush}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="*", help=", ".join(benches))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    chosen = arguments.bench or list(benches)
    if not set(chosen) <= set(benches):
        parser.error(f"there are {', '.join(benches)}")
    kafka_libs()
    compile_engine()
    results = []
    folder = tempfile.mkdtemp(prefix="data-", dir=arguments.folder or BUILD)
    try:
        for name in chosen:
            benches[name](folder, arguments.rounds, results)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with open(os.path.join(BUILD, "results.json"), "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
