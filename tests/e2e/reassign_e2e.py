"""kafka-reassign-partitions, ours and Apache Kafka's, moves a partition between the log directories of a running Cordwood.

The files are where the tool says they are, the records are all there, and both tools tell the same of it.
"""
import json
import os
import subprocess
import time

import harness
from harness import check, check_equal

TOPIC = "moved"
KAFKAS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
RECORDS = 200


def own(*words, stdin=None):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin)
    check_equal(done.returncode, 0, f"cordwood {' '.join(words)}: {done.stdout} {done.stderr}")
    return done.stdout


def plan(folder, number, directory):
    path = os.path.join(folder, f"plan{number}.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [directory]}]}, f)
    return path


def our_tool(server, *words):
    return own("reassign-partitions", "--bootstrap-server", server, *words)


def kafkas_tool(server, *words):
    done = harness.java(KAFKAS, "--bootstrap-server", server, *words)
    check_equal(done.returncode, 0, f"Kafka's tool: {done.stdout} {done.stderr}")
    return done.stdout


def wait_for_move(tool, server, path):
    """Until the tool says that the replica is where the plan wants it; what it said last."""
    done = f"Reassignment of replica {TOPIC}-0-1 completed successfully."
    deadline = time.monotonic() + 60
    while True:
        said = tool(server, "--verify", "--reassignment-json-file", path)
        if done in said:
            return said
        check(time.monotonic() < deadline, f"the move goes on for a minute: {said}")
        time.sleep(0.1)


def main():
    os.environ["CORDWOOD_BINARY"] = os.path.abspath(harness.binary())
    with harness.workspace("reassign") as folder:
        directories = [os.path.join(folder, "a"), os.path.join(folder, "b")]
        with harness.Cordwood(folder, log_dirs=directories) as broker:
            broker.start()
            server = f"localhost:{broker.port}"
            own("topics", "--bootstrap-server", server, "--create", "--topic", TOPIC)
            lines = "".join(f"record {i}\n" for i in range(RECORDS))
            own("console-producer", "--bootstrap-server", server, "--topic", TOPIC, stdin=lines)
            here = next(d for d in directories if os.path.isdir(os.path.join(d, f"{TOPIC}-0")))
            there = next(d for d in directories if d != here)
            for number, (tool, other, target) in enumerate([(our_tool, kafkas_tool, there), (kafkas_tool, our_tool, here)]):
                path = plan(folder, number, target)
                started = tool(server, "--execute", "--reassignment-json-file", path)
                check(f"Successfully started moving log directory to {target} for replica {TOPIC}-0 with broker 1" in started, started)
                said = wait_for_move(tool, server, path)
                check_equal(other(server, "--verify", "--reassignment-json-file", path), said, "what the two tools say")
                check(os.path.isdir(os.path.join(target, f"{TOPIC}-0")), f"no log in {target}")
                read = own("console-consumer", "--bootstrap-server", server, "--topic", TOPIC, "--from-beginning", "--max-messages", str(RECORDS))
                check_equal(read, lines, "records after the move")
            state = json.loads(our_tool(server, "--verify", "--json", "--preserve-throttles", "--reassignment-json-file", path))
            check_equal(state["logDirs"][0]["logDir"], here, "the directory that --json names")
            check_equal(broker.stop(), 0, "exit code")


if __name__ == "__main__":
    harness.run(main)
