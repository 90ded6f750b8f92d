#!/usr/bin/env python3
"""Messages with random contents, both ways: what Kafka's own classes write we read and write unchanged, and what we write
they do. Every message, every version. Argument: the program message_echo. The jars are in $CORDWOOD_KAFKA_LIBS."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = os.environ.get("CORDWOOD_SEED", "1")
COUNT = "20"


def main():
    echo = sys.argv[1]
    jars = os.environ.get("CORDWOOD_KAFKA_LIBS")
    if not jars:
        sys.exit("CORDWOOD_KAFKA_LIBS is not set: run this through ./dev")
    kafka = ["java", "-cp", os.path.join(jars, "*"), os.path.join(HERE, "MessageBytes.java")]

    def output(command, **more):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout

    # Kafka's class of this one has another name than its file; schema_against_jar.py knows it.
    ours = [line for line in output([echo, "list"]).split() if not line.startswith("ZkMigrationRecord:")]
    print(f"{len(ours)} messages, seed {SEED}")
    theirs = output(kafka + ["make", SEED, COUNT] + ours)
    failed = False
    for command, text in (([echo, "check"], theirs),
                          (kafka + ["check"], "".join(line + "\n" for line in
                                                      output([echo, "make", SEED, COUNT]).splitlines()
                                                      if not line.startswith("ZkMigrationRecord ")))):
        result = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True)
        print(result.stdout[-4000:].rstrip())
        failed = failed or result.returncode != 0
    # Both sides must notice a message that does not come back as it was (here: a length in a longer form).
    spoiled = "HeartbeatRequest v4 82006700000004026d0000\n"
    for command in ([echo, "check"], kafka + ["check"]):
        if subprocess.run(command, input=spoiled, stdout=subprocess.DEVNULL, text=True).returncode == 0:
            print(f"{command[0]} accepted a spoiled message")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
