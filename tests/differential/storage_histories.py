#!/usr/bin/env python3
"""The histories in tests/golden/storage are what Apache Kafka's own classes say: runs the generators again and compares.

The replay of them against our code is in src/storage (ProducerStateGolden, LeaderEpochCache). With --write the files are
made anew, for instance after a change of a generator; the diff is then to be reviewed.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden", "storage")
FILES = {"ProducerStateCases.java": "producer_state_cases.txt", "LeaderEpochCases.java": "leader_epoch_cases.txt"}


def generate(source):
    libraries = os.environ.get("CORDWOOD_KAFKA_LIBS")
    if not libraries:
        sys.exit("CORDWOOD_KAFKA_LIBS is not set: run this through ./dev")
    command = ["java", "-cp", os.path.join(libraries, "*"), os.path.join(HERE, source)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def main():
    write = sys.argv[1:] == ["--write"]
    differ = 0
    for source, name in FILES.items():
        path = os.path.join(GOLDEN, name)
        generated = generate(source)
        if write:
            with open(path, "w", encoding="ascii") as file:
                file.write(generated)
            continue
        with open(path, encoding="ascii") as file:
            kept = file.read()
        if generated == kept:
            print(f"{name}: {len(kept.splitlines())} lines, the same")
            continue
        differ += 1
        pairs = zip(generated.splitlines(), kept.splitlines())
        number, (theirs, ours) = next(((n, p) for n, p in enumerate(pairs, 1) if p[0] != p[1]), (0, ("", "")))
        print(f"{name}: differs from line {number} on\n  Kafka: {theirs}\n  kept:  {ours}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
