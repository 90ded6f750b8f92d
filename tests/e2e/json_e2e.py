#!/usr/bin/env python3
"""--json of commands whose tables need a broker: each line is an object, and what Kafka's tool mixes into its table is on stderr."""
import json
import subprocess

import harness
from harness import check, check_equal


def run(*words, stdin=None):
    """Exit code, the objects on stdout, stderr."""
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def main():
    with harness.workspace("json") as folder, harness.Cordwood(folder) as broker:
        broker.start()
        to = ["--bootstrap-server", broker.address()]
        subprocess.run([harness.binary(), "topics", *to, "--create", "--topic", "t", "--partitions", "2"], check=True, capture_output=True)
        groups = ["consumer-groups", *to, "--json", "--group", "g"]
        code, rows, err = run(*groups, "--reset-offsets", "--topic", "t", "--to-earliest", "--execute")
        check_equal((code, err), (0, ""), "reset")
        check_equal(sorted(rows, key=lambda r: r["partition"]),
                    [{"groupId": "g", "topic": "t", "partition": p, "newOffset": 0} for p in (0, 1)], "reset")
        # A warning is no row.
        code, rows, err = run(*groups, "--reset-offsets", "--topic", "t:0", "--to-datetime", "2020-01-01T00:00:00.000", "--dry-run")
        check_equal((code, rows), (0, [{"groupId": "g", "topic": "t", "partition": 0, "newOffset": 0}]), "reset to a time")
        check("Warn: Partition 0 from topic t is empty" in err, f"reset to a time: {err}")
        code, rows, err = run(*groups, "--delete-offsets", "--topic", "t:0", "--topic", "t:7")
        check_equal(code, 0, "delete-offsets")
        check_equal(rows[0], {"topic": "t", "partition": 0, "status": "Successful"}, "delete-offsets")
        code, rows, err = run("consumer-groups", *to, "--json", "--delete", "--group", "g", "--group", "none")
        check_equal({row["groupId"]: row["status"].split(":")[0] for row in rows}, {"g": "Successful", "none": "Error"}, "delete")
        check("Error: Deletion of some consumer groups failed:" in err, f"delete: {err}")
        code, rows, err = run("configs", *to, "--describe", "--all", "--topic", "t", "--json")
        check_equal({"isSensitive", "name", "value", "source", "synonyms"}, set(rows[0][0]["configs"][0]), "fields of a setting")
        code, rows, err = run("features", *to, "feature-dependencies", "--json", "--feature", "eligible.leader.replicas.version=1", "--feature",
                              "transaction.version=2")
        check_equal(rows, [[{"name": "eligible.leader.replicas.version", "level": 1, "dependencies": {"metadata.version": 23}},
                            {"name": "transaction.version", "level": 2, "dependencies": {}}]], "feature-dependencies")


if __name__ == "__main__":
    harness.run(main)
