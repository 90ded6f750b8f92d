#!/usr/bin/env python3
"""Differential histories: the same history of a partition log over Apache Kafka's own storage classes (HistoryDriver.java)
and over ours (log_driver.cc) leaves equal files and gives equal answers; a toy log (model.py) agrees with both.

  histories.py DRIVER                         the kept histories, then a small fixed set
  histories.py DRIVER --count 2000 --seed 7   the kept ones, then the histories of 2000 seeds from 7 on
  histories.py DRIVER --show FILE             one history: both answers beside each other
  histories.py --kafka FILE                   one history, what Kafka says to each line; no driver of ours needed
  histories.py DRIVER --seed 7 --print        the history of a seed
  ... --without damage,compaction             leaves features out (generator.FEATURES)
  ... --keep DIRECTORY                        where shrunk failures are written (tests/golden/histories replays them)

CORDWOOD_KAFKA_LIBS names the folder with Kafka's jars (./dev sets it). A failing history is shrunk and printed.

One operation a line; # begins a comment. TIME is in ms relative to the clock, OFFSET is a number or end, hw, lso, start
with +n or -n behind it.

  broker producer.id.expiration.ms=N dedupe=BYTES        for the next open
  config KEY=VALUE ...          topic settings, at once when the log is open (segment.bytes may be small)
  open | stop clean | stop unclean                        a stop lists all files with size and CRC; unclean: the process died
  append epoch=E [codec=C] [pid=P pe=E seq=S [txn]] [seed=N] records=KEY:SIZE:TIME,...     - is null; TIME none: no time
  marker kind=commit|abort pid=P pe=E ce=C epoch=E [tv=N]
  follow at=OFFSET epoch=E [step=N] [times=N] [magic=0|1] [lat] ... as append or marker     times: so many batches
  epoch E | hw OFFSET | clock MS | roll | retention | compact | delete-records OFFSET | truncate OFFSET
  truncate-fully OFFSET | expire | flush [OFFSET] | checkpoint
  damage KIND BACK cut N | flip N | zero N M | append HEX | remove     while stopped; the BACK-th file from the last of a
                                suffix (log, index, ...) or a file name; N counts bytes from the end of the file
  read OFFSET [max=BYTES] [to=end|hw|lso] [one] | time TIME | max-time | epoch-end E | offsets | producers | files
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generator  # noqa: E402
import model  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "..", "golden", "histories")
QUESTIONS = {"read", "time", "max-time", "epoch-end", "offsets", "producers", "files"}


class Driver:
    """A process that runs histories, started anew when it dies."""

    def __init__(self, command, directory):
        self.command = command
        self.directory = directory
        self.process = None

    def run(self, path):
        """The answers by line, and the bytes of batches by line."""
        if self.process is None:
            self.errors = tempfile.TemporaryFile(mode="w+")
            self.process = subprocess.Popen(self.command + [self.directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, text=True)
        answers, batches = {}, {}
        try:
            self.process.stdin.write(f"run {path}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self.process.stdout:
            if line == "end\n":
                return answers, batches
            number, answer = line.rstrip("\n").split(" ", 1)
            if answer.startswith("= "):
                batches[int(number)] = answer[2:]
            else:
                answers[int(number)] = answer
        self.process.wait()
        self.errors.seek(0)
        answers[0] = f"died with status {self.process.returncode}: {self.errors.read()[-3000:]}"
        self.process = None
        return answers, batches

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def start_kafka(scratch):
    libraries = os.environ.get("CORDWOOD_KAFKA_LIBS")
    if not libraries:
        sys.exit("CORDWOOD_KAFKA_LIBS is not set: run this through ./dev")
    classes = os.path.join(scratch, "classes")
    jars = os.path.join(libraries, "*")
    sources = [os.path.join(HERE, name) for name in ("HistoryDriver.java", "HistoryBatches.java")]
    subprocess.run(["javac", "-cp", jars, "-d", classes, *sources], check=True)
    command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-cp",
               f"{jars}:{classes}", "HistoryDriver"]
    return Driver(command, os.path.join(scratch, "kafka", "data"))


class Comparison:
    def __init__(self, scratch, ours):
        self.scratch = scratch
        self.kafka = start_kafka(scratch)
        self.ours = Driver([ours], os.path.join(scratch, "ours", "data")) if ours else None
        self.runs = 0

    def answers(self, lines):
        path = os.path.join(self.scratch, "history.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        theirs, batches = self.kafka.run(path)
        if self.ours is None:
            return theirs, {}, {}
        with open(path, "a", encoding="ascii") as file:
            file.writelines(f"{number} = {batch}\n" for number, batch in batches.items())
        self.runs += 1
        return theirs, self.ours.run(path)[0], batches

    def difference(self, lines):
        """None, or (line number, Kafka's answer, ours, whose)."""
        theirs, ours, batches = self.answers(lines)
        complaint = model.complaint(lines, batches, theirs)
        died = [(0, a.get(0, "lives"), b.get(0, "lives"), "dies") for a, b in [(theirs, ours)] if 0 in a or 0 in b]
        for number in sorted(theirs):
            if number not in ours:
                break
            if parts_ways(lines, number, theirs[number], ours[number]):
                return None
            if names_more(theirs[number], ours[number]):
                continue
            if comparable(lines, number, theirs[number]) != comparable(lines, number, ours[number]):
                return number, theirs[number], ours[number], "ours"
            if complaint and complaint[0] == number:
                return number, theirs[number], complaint[1], "the model's"
        return died[0] if died else None

    def shrink(self, lines, difference):
        """A short history that still differs, in the same kind of operation."""
        def kind(history, found):
            if not found[0]:
                return "dies"
            parts = [comparable(history, found[0], answer) for answer in found[1:3]]
            names = {re.sub(r"t-0/\d+|=.*", "", part) for part in " ".join(first_difference(*parts)).split() if "=" in part}
            return history[found[0] - 1].split()[0], found[3], tuple(sorted(names)[:1])

        wanted = kind(lines, difference)
        if difference[0]:
            lines = lines[:difference[0]]
        step = max(1, len(lines) // 2)
        while step:
            at = 0
            while at < len(lines):
                shorter = lines[:at] + lines[at + step:]
                found = self.difference(shorter) if shorter else None
                if found and kind(shorter, found) == wanted:
                    lines = shorter[:found[0]] if found[0] else shorter
                else:
                    at += step
            step //= 2
        return lines

    def stop(self):
        self.kafka.stop()
        if self.ours:
            self.ours.stop()


def comparable(lines, number, answer):
    """What of an answer must be equal. Each difference that is left out is a row of docs/compat.md."""
    operation = lines[number - 1].split()
    if operation[:2] == ["stop", "unclean"] or operation[0] == "files":
        # A recovery point at the log end is checkpointed as one less; leader epochs are written with the next flush; the
        # index files of the active segment are made at the roll rather than with its first batch, and get their room in
        # reserve with the first append rather than at the opening.
        answer = re.sub(r" (t-0/leader-epoch-checkpoint|recovery-point-offset-checkpoint)=\S*", "", answer)
        for base in re.findall(r" t-0/(\d+)\.log=0:", answer):
            answer = re.sub(rf" t-0/{base}\.(time)?index=\S+", "", answer)
        answer = re.sub(r"(index=)\d+", r"\1", answer)
    if epochs_may_be_lost(lines[:number]):
        answer = re.sub(r" (t-0/leader-epoch-checkpoint|epochs)=\S*", "", answer)
        if operation[0] == "epoch-end":
            return ""
    if "stop unclean" in lines[:number]:
        answer = re.sub(r" recovery=\S+", "", answer)
    if re.match(r"read( incomplete)?( aborted=\S*)?$", answer):
        return "read"  # no batch, so no aborted transaction is of interest
    # What a recovery cuts off is kept in a folder that Kafka ignores.
    answer = re.sub(r" t-0/damaged/\S+", "", answer)
    if any(line.startswith("damage") for line in lines[:number]):
        # A high watermark of before may lie inside a batch of after; Kafka moves it to the start once it has looked it up.
        answer = re.sub(r" replication-offset-checkpoint=\S+", "", answer)
    if "stop unclean" in lines[:number]:
        # Kafka removes what lies behind a cut, and a log that ends below its start, after a while; we do at once.
        return re.sub(r" t-0/\d+\.\w+\.deleted=\S+", "", answer)
    return re.sub(r" t-0/\d+\.(time)?index\.deleted=\S+", "", answer)


def parts_ways(lines, number, theirs, ours):
    """Whether the two sides differ from here on for a reason that is a row of docs/compat.md."""
    if "UNKNOWN_SERVER_ERROR" in theirs:
        return True  # Kafka has met what it did not expect
    if theirs == ours and theirs.startswith("refused") and re.match(r"follow at=end\+[1-9]", lines[number - 1]):
        return True  # Kafka may have rolled to a base above the log end
    if lines[number - 1] == "compact" and "uncleanable" in theirs and "uncleanable" not in ours:
        return True  # Kafka gives a log up whose cleaned index has no room
    if lines[number - 1] == "open":
        # Kafka refuses to start where an index made anew has no room, and over some damage.
        return theirs == "refused" and ours == "ok"
    if lines[number - 1].startswith("stop"):
        # Kafka takes no snapshot of a log that DeleteRecords emptied, at the stop or at a roll, and forgets its producers.
        theirs, ours = (set(comparable(lines, number, answer).split()) for answer in (theirs, ours))
        extra = ours - theirs
        emptied = any(line.split()[0] in ("delete-records", "retention") for line in lines[:number])
        return emptied and bool(extra) and theirs < ours and all(".snapshot" in name for name in extra)
    return False


def names_more(theirs, ours):
    """Reads that are equal but for aborted transactions behind what was read, which Kafka sometimes names."""
    if not theirs.startswith("read"):
        return False
    (theirs, more), (ours, less) = (answer.partition(" aborted=")[::2] for answer in (theirs, ours))
    more, less = (set(names.split(",")) - {""} for names in (more, less))
    last = max((int(offset) for offset in re.findall(r" \d+-(\d+)@", theirs)), default=-1)
    return theirs == ours and less <= more and all(int(name.split("@")[1]) > last for name in more - less)


def epochs_may_be_lost(lines):
    """What a process that dies has not written of leader epochs comes back from the batches; not all of it is in them."""
    changed = False
    for line in lines:
        operation = line.split()[0]
        changed = changed or operation in ("epoch", "delete-records", "retention", "truncate", "truncate-fully")
        changed = changed or " magic=" in line  # messages without epochs, which the log forgets its epochs for
        # No checksum covers the epoch of a batch, nor its first offset.
        if changed and line.startswith("stop unclean") or re.match(r"damage (leader-epoch|log \d+ (flip|zero))", line):
            return True
    return False


def first_difference(theirs, ours):
    """The parts of two answers that differ."""
    a, b = theirs.split(), ours.split()
    return " ".join(x for x in a if x not in b) or "(nothing)", " ".join(x for x in b if x not in a) or "(nothing)"


def explain(comparison, lines, difference):
    number, theirs, ours, whose = difference
    print(f"--- Kafka's answer and {whose} differ" + (f" in line {number}: {lines[number - 1]}" if number else ""))
    if number:
        parts = [comparable(lines, number, answer) for answer in (theirs, ours)]
        for name, part in zip(("Kafka", "other"), first_difference(*parts)):
            print(f"  {name}: {part}")
    else:
        print(f"  Kafka {theirs}\n  ours {ours}")


def hex_files(scratch, lines):
    """The differing files of a history that ends in a listing, as the drivers left them."""
    if not lines or lines[-1].split()[0] not in ("stop", "files"):
        return
    for folder, _, names in sorted(os.walk(os.path.join(scratch, "kafka", "data"))):
        for name in sorted(names):
            theirs = os.path.join(folder, name)
            ours = theirs.replace(os.path.join(scratch, "kafka"), os.path.join(scratch, "ours"))
            a = open(theirs, "rb").read()
            b = open(ours, "rb").read() if os.path.exists(ours) else b""
            if a == b or name == ".lock":
                continue
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            at -= at % 4
            print(f"  {name}: {len(a)} and {len(b)} bytes, from byte {at} on\n    {a[at:at + 64].hex(' ', 4)}\n    "
                  f"{b[at:at + 64].hex(' ', 4)}")


def examine(comparison, name, lines, keep):
    found = comparison.difference(lines)
    if not found:
        return True
    print(f"=== {name} of {len(lines)} lines")
    explain(comparison, lines, found)
    lines = comparison.shrink(lines, found)
    found = comparison.difference(lines)
    if found:
        print(f"shrunk to {len(lines)} lines:\n" + "\n".join(lines))
        explain(comparison, lines, found)
        hex_files(comparison.scratch, lines)
        if keep:
            os.makedirs(keep, exist_ok=True)
            with open(os.path.join(keep, name.replace(" ", "-") + ".txt"), "w", encoding="ascii") as file:
                file.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return False


def read_history(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def show(comparison, lines):
    theirs, ours, batches = comparison.answers(lines)
    complaint = model.complaint(lines, batches, theirs)
    for number, line in enumerate(lines, 1):
        print(f"{number:4} {line}")
        if number not in theirs:
            continue
        print(f"       Kafka {theirs[number]}")
        if ours and ours.get(number) != theirs[number]:
            print(f"     ! ours  {ours.get(number)}")
        if complaint and complaint[0] == number:
            print(f"     ! model {complaint[1]}")
    for side in (theirs, ours):
        if 0 in side:
            print(side[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--length", type=int, default=60)
    parser.add_argument("--without", default="")
    parser.add_argument("--keep")
    parser.add_argument("--stop-after", type=int, default=3, help="failures")
    parser.add_argument("--show")
    parser.add_argument("--kafka")
    parser.add_argument("--print", action="store_true")
    arguments = parser.parse_args()
    features = [name for name in generator.FEATURES if name not in arguments.without.split(",")]
    if arguments.print:
        print("\n".join(generator.generate(arguments.seed, features, arguments.length)))
        return
    if not arguments.driver and not arguments.kafka:
        sys.exit("which driver? See --help")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="histories.", dir=memory)
    comparison = Comparison(scratch, None if arguments.kafka else arguments.driver)
    try:
        if arguments.show or arguments.kafka:
            show(comparison, read_history(arguments.show or arguments.kafka))
            return
        failed, done = 0, 0
        for path in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
            done += 1
            failed += not examine(comparison, os.path.basename(path), read_history(path), None)
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            if failed >= arguments.stop_after:
                break
            done += 1
            history = generator.generate(seed, features, arguments.length)
            failed += not examine(comparison, f"seed {seed}", history, arguments.keep)
        print(f"{done} histories, {failed} differ")
        sys.exit(1 if failed else 0)
    finally:
        comparison.stop()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
