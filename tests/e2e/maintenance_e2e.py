#!/usr/bin/env python3
"""roll, retain, compact and reindex of a broker that runs: asked over its inspector, and what they say where nobody can be asked."""
import json
import os
import subprocess

import harness
from harness import check, check_equal
from inspector_e2e import Inspect, inspector_port

ALLOWED = {"cordwood.inspector.listener": "127.0.0.1:0", "cordwood.inspector.actions": "true"}


def ask(*words):
    """Exit code, stdout and stderr."""
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def own(*words, stdin=None):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin, check=False)
    check_equal(done.returncode, 0, f"cordwood {' '.join(words)}: {done.stdout} {done.stderr}")
    return done.stdout


def segments(broker, partition):
    return sorted(name for name in os.listdir(os.path.join(broker.dirs[0], partition)) if name.endswith(".log"))


def produce(broker, topic, lines):
    own("console-producer", "--bootstrap-server", broker.address(), "--topic", topic, "--reader-property", "parse.key=true",
        stdin="".join(f"{key}\t{value}\n" for key, value in lines))


def consume(broker, topic):
    return own("console-consumer", "--bootstrap-server", broker.address(), "--topic", topic, "--from-beginning", "--timeout-ms", "5000",
               "--formatter-property", "print.key=true").splitlines()


def rolls_and_retains(broker, url):
    own("topics", "--bootstrap-server", broker.address(), "--create", "--topic", "orders", "--partitions", "2")
    own("topics", "--bootstrap-server", broker.address(), "--create", "--topic", "other")
    produce(broker, "orders", [("k", f"v{i}") for i in range(10)])
    filled = next(p for p in ("orders-0", "orders-1") if os.path.getsize(os.path.join(broker.dirs[0], p, f"{0:020}.log")) > 0)
    empty = "orders-1" if filled == "orders-0" else "orders-0"
    said = dict(line.split(": ", 1) for line in own("roll", "--inspector", url, "orders").splitlines())
    check_equal(said, {filled: "A new active segment begins at 10.", empty: "The active segment is empty and stays."}, "roll")
    check_equal(segments(broker, filled), [f"{0:020}.log", f"{10:020}.log"], "segments after the roll")
    line = json.loads(own("roll", "--inspector", url, "--json", filled))
    check_equal(line, {"command": "roll", "topic": "orders", "partition": int(filled[-1]), "says": "The active segment is empty and stays."}, "roll --json")

    check_equal(own("retain", "--inspector", url), "", "retention where all may stay")
    # Of all partitions: the metadata log is shown by the inspector, and is nobody's to change.
    check("__cluster_metadata" not in own("reindex", "--inspector", url), "the metadata log was asked to be changed")
    own("configs", "--bootstrap-server", broker.address(), "--alter", "--topic", "orders", "--add-config", "retention.ms=1")
    code, out, err = ask("retain", "--inspector", url, "--dry-run")
    check_equal((code, err), (0, "cordwood retain: nothing was changed (--dry-run)\n"), "retain --dry-run")
    check(out.startswith(f"{filled}: ") and out.count("\n") == 1, f"retain --dry-run: {out}")
    check_equal(len(segments(broker, filled)), 2, "segments after the dry run")
    line = json.loads(own("retain", "--inspector", url, "--json"))
    check_equal((line["topic"], line["removed_segments"]), ("orders", 1), "retain --json")
    check(line["says"].startswith("1 segments with "), f"retain: {line}")
    check_equal(segments(broker, filled), [f"{10:020}.log"], "segments after retention")


def compacts_and_reindexes(broker, url):
    own("topics", "--bootstrap-server", broker.address(), "--create", "--topic", "states", "--config", "cleanup.policy=compact",
        "--config", "min.cleanable.dirty.ratio=1.0")
    produce(broker, "states", [(f"k{i % 3}", f"v{i}") for i in range(30)])
    own("roll", "--inspector", url, "states:0")
    code, out, err = ask("compact", "--inspector", url, "--force", "--dry-run", "states")
    check_equal((code, err), (0, "cordwood compact: nothing was changed (--dry-run)\n"), f"compact --dry-run: {out}")
    check_equal(len(consume(broker, "states")), 30, "records after the dry run")
    out = own("compact", "--inspector", url, "--force", "states")
    check(out.startswith("states-0: Offsets 0 to 3") and "3 of 30 records stay" in out, f"compact: {out}")
    check_equal(sorted(consume(broker, "states")), ["k0\tv27", "k1\tv28", "k2\tv29"], "records after the compaction")
    check_equal(json.loads(own("compact", "--inspector", url, "--json", "states"))["cleaned"], False, "a second compaction")
    out = own("reindex", "--inspector", url, "states*")
    check(out.startswith("states-0: Both indexes of ") and out.count("\n") == 1, f"reindex: {out}")


def says_what_is_wrong(broker, url):
    data = broker.dirs[0]
    code, out, err = ask("roll", data)
    check_equal((code, out), (1, ""), "roll of a directory in use")
    check("cordwood roll --inspector http://HOST:PORT" in err and data in err, err)
    check_equal(ask("roll", "--inspector", url, "nonsense"), (1, "", "cordwood roll: no topic and no partition here is called nonsense\n"), "a topic that is not there")
    check_equal(ask("roll", "--inspector", url, data)[:2], (1, ""), "a directory and an inspector")
    code, _, err = ask("reindex", "--inspector", url, "--dry-run")
    check("beforehand" in err and code == 1, err)
    # The broker's own port speaks another language, which ends the connection.
    code, _, err = ask("roll", "--inspector", f"http://{broker.address()}")
    check_equal((code, err), (1, f"cordwood roll: what answers at {broker.address()} is no inspector of a Cordwood\n"), "a port of Kafka's protocol")
    nobody = harness.free_port()
    code, _, err = ask("roll", "--inspector", f"127.0.0.1:{nobody}")
    check(code == 1 and "Connection refused" in err and "Apache Kafka has none" in err, err)


def main():
    with harness.workspace("maintenance") as folder:
        with harness.Cordwood(folder, overrides=ALLOWED) as broker:
            broker.start()
            url = f"http://127.0.0.1:{inspector_port(broker)}/"
            rolls_and_retains(broker, url)
            compacts_and_reindexes(broker, url)
            says_what_is_wrong(broker, url)
            produce(broker, "states", [(f"k{i % 3}", f"w{i}") for i in range(30)])
            own("roll", "--inspector", url, "states")
            check_equal(broker.stop(), 0, "exit code of the broker")
        # Not dirty enough, and forced: the same on the stopped directory.
        out = own("compact", os.path.join(folder, "data"), "--force", "states")
        check(out.startswith("states-0: clean up to offset 60: 3 of 33 records stay"), f"compact of a directory: {out}")
        closed = {"cordwood.inspector.listener": "127.0.0.1:0", "cordwood.inspector.token": "a-secret-of-sixteen-letters"}
        with harness.Cordwood(folder, overrides=closed, name="closed") as broker:
            broker.start()
            port = inspector_port(broker)
            code, _, err = ask("roll", "--inspector", f"127.0.0.1:{port}")
            check(code == 1 and f"127.0.0.1:{port} wants a token: --token TOKEN" in err, err)
            for words in (["--inspector", f"127.0.0.1:{port}", "--token", closed["cordwood.inspector.token"]],
                          ["--inspector", f"http://127.0.0.1:{port}/?token={closed['cordwood.inspector.token']}"]):
                code, _, err = ask("roll", *words)
                check(code == 1 and "cordwood.inspector.actions=true" in err, err)
                check_equal(ask("retain", "--dry-run", *words)[0], 0, "a look where changes are not allowed")
            check_equal(broker.stop(), 0, "exit code of the broker")
        with Inspect(folder) as inspect:
            inspect.start(os.path.join(folder, "data"))
            code, _, err = ask("roll", "--inspector", f"127.0.0.1:{inspect.port}")
            check(code == 1 and "there is no broker that could be asked" in err, err)


if __name__ == "__main__":
    harness.run(main)
