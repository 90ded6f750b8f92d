"""How much CPU do the console producer and consumer take for the flights, beside Kafka's?

  console_tools.py [--rows N] [--runs N]

One Cordwood serves both. produce: every flight as a line "tail number TAB json" into kafka-console-producer, with parse.key, each run
into a topic of its own; consume: all of them with kafka-console-consumer, print.key, its text to a file. The two take turns. CPU seconds
are those of the whole process and stay comparable when others are at work; what was consumed must be what was produced, as a multiset
of lines.
"""
import argparse
import collections
import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "examples", "flights"))
import flights  # noqa: E402
import harness  # noqa: E402
from offline_tools import JAVA  # noqa: E402


def cpu_of(command, source, target):
    with open(source, "rb") as lines, open(target, "wb") as out:
        process = subprocess.Popen(command, stdin=lines, stdout=out, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command}: {process.returncode}: {errors.decode()[-1000:]}")
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=336776)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    kafka = [*JAVA, "-cp", f"{harness.kafka_libs()}/*"]
    tools = {"cordwood": {"produce": [harness.binary(), "console-producer"], "consume": [harness.binary(), "console-consumer"]},
             "kafka": {"produce": [*kafka, "org.apache.kafka.tools.ConsoleProducer"],
                       "consume": [*kafka, "org.apache.kafka.tools.consumer.ConsoleConsumer"]}}
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines")
        count = 0
        with open(lines, "wb") as f:
            for _, key, value, _ in flights.records():
                if count == arguments.rows:
                    break
                f.write((key or b"none") + b"\t" + value + b"\n")
                count += 1
        with open(lines, "rb") as f:
            produced = collections.Counter(f)
        best = {}
        with harness.Cordwood(folder) as broker:
            broker.start()
            address = broker.address()
            for run in range(arguments.runs):
                for side, commands in tools.items():
                    topic = f"{side}-{run}"
                    taken = os.path.join(folder, "taken")
                    used = {
                        "produce": cpu_of([*commands["produce"], "--bootstrap-server", address, "--topic", topic,
                                           "--reader-property", "parse.key=true"], lines, os.devnull),
                        "consume": cpu_of([*commands["consume"], "--bootstrap-server", address, "--topic", topic, "--from-beginning",
                                           "--max-messages", str(count), "--formatter-property", "print.key=true"], os.devnull, taken)}
                    with open(taken, "rb") as f:
                        if collections.Counter(f) != produced:
                            sys.exit(f"{topic}: what was consumed is not what was produced")
                    for what, seconds in used.items():
                        best[(side, what)] = min(seconds, best.get((side, what), seconds))
        for what in ("produce", "consume"):
            own, theirs = best[("cordwood", what)], best[("kafka", what)]
            print(f"{what} {count} flights: cordwood {own:.2f} s of CPU, kafka {theirs:.2f}, ratio {theirs / own:.1f}")
    print(f"peak memory of a tool: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB (Kafka's included)")


if __name__ == "__main__":
    main()
