#!/usr/bin/env python3
"""The inspector's page in a real Chromium: every view of web/e2e, on a broker under load, on a directory that Apache Kafka wrote, and
on a damaged one. The scripts fail on errors of the page, on what axe finds, on wrong numbers and on long tasks.

  page_e2e.py              all of them
  page_e2e.py shots DIR    pictures of each view instead, for `./dev shots`
"""
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import check, check_equal

WEB = os.path.join(harness.ROOT, "web")
GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")
NO_TESTS = {"browser.mjs", "shots.mjs"}


def own(*words, stdin=None):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin, check=False)
    check_equal(done.returncode, 0, f"cordwood {' '.join(words)}: {done.stdout} {done.stderr}")
    return done.stdout


def node(script, *words):
    done = subprocess.run(["node", os.path.join("e2e", script), *words], cwd=WEB, capture_output=True, text=True, timeout=600, check=False)
    check_equal(done.returncode, 0, f"{script} {' '.join(words)}:\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")
    print(f"{script}: {done.stdout.strip().splitlines()[-1] if done.stdout.strip() else 'passed'}", flush=True)


def scripts():
    found = sorted(name for name in os.listdir(os.path.join(WEB, "e2e")) if name.endswith(".mjs") and name not in NO_TESTS)
    check(found, "there are no scripts")
    return found


class Load:
    """Produces for as long as the page is looked at."""

    def __init__(self, address):
        self.process = subprocess.Popen([harness.binary(), "producer-perf-test", "--topic", "orders", "--num-records", "100000000",
                                         "--record-size", "200", "--throughput", "500", "--producer-props",
                                         f"bootstrap.servers={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.kill()
        self.process.wait()


def fill(address):
    server = ["--bootstrap-server", address]
    own("topics", *server, "--create", "--topic", "orders", "--partitions", "3", "--config", "segment.bytes=1048576", "--config",
        "retention.ms=86400000")
    own("topics", *server, "--create", "--topic", "customers", "--partitions", "1", "--config", "cleanup.policy=compact")
    own("console-producer", *server, "--topic", "orders", "--reader-property", "parse.key=true",
        stdin="".join(f'order-{i}\t{{"order":{i},"lines":[{{"article":"A-{i % 97}","count":{i % 5 + 1}}}],"note":"<b>no markup</b>"}}\n'
                      for i in range(20000)))
    own("console-producer", *server, "--topic", "customers", "--reader-property", "parse.key=true", "--reader-property", "null.marker=NULL",
        stdin="".join(f"customer-{i % 40}\t{'NULL' if i % 29 == 0 else f'address {i}'}\n" for i in range(2000)))
    own("console-consumer", *server, "--topic", "orders", "--group", "billing", "--from-beginning", "--max-messages", "5000")
    own("console-consumer", *server, "--topic", "customers", "--group", "mailing", "--from-beginning", "--max-messages", "2000")


def inspector_address(process):
    found = re.search(r"http://127\.0\.0\.1:\d+", process.output().split("inspector at ")[-1])
    check(found, f"no address of the page: {process.output()[-500:]}")
    return found.group(0)


class Inspect(harness.Process):
    """`cordwood inspect` on a directory."""

    def __init__(self, folder, directory):
        super().__init__(os.path.join(folder, os.path.basename(directory) + ".log"))
        self.directory = directory
        self.port = harness.free_port()

    def start(self):
        self.launch([harness.binary(), "inspect", self.directory, "--port", str(self.port)], r"http://127\.0\.0\.1:\d+", 60)
        return f"http://127.0.0.1:{self.port}"


def damaged_copy(folder):
    target = os.path.join(folder, "damaged")
    shutil.copytree(os.path.join(GOLDEN, "transactions"), target)
    logs = sorted(os.path.join(at, name) for at, _, names in os.walk(target) for name in names
                  if name.endswith(".log") and not os.path.basename(at).startswith("__") and os.path.getsize(os.path.join(at, name)) > 200)
    check(logs, "the golden directory has no log")
    for path in logs:
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2)
            f.write(b"\xff" * 40)
    return target


def main():
    check(os.path.exists(os.path.join(WEB, "node_modules", "playwright-core")), "web/node_modules is made by the build of the page")
    with harness.workspace("page") as folder:
        with harness.Cordwood(folder, overrides={"cordwood.inspector.listener": f"127.0.0.1:{harness.free_port()}",
                                                 "cordwood.inspector.actions": "true"}) as broker:
            broker.start()
            fill(broker.address())
            load = Load(broker.address())
            try:
                if sys.argv[1:2] == ["shots"]:
                    return node("shots.mjs", inspector_address(broker), os.path.abspath(sys.argv[2]))
                for script in scripts():
                    node(script, inspector_address(broker))
            finally:
                load.end()
            check_equal(broker.stop(), 0, "exit code of the broker")
        golden = os.path.join(folder, "golden")
        shutil.copytree(os.path.join(GOLDEN, "transactions"), golden)
        for directory in (golden, damaged_copy(folder)):
            with Inspect(folder, directory) as inspect:
                address = inspect.start()
                for script in scripts():
                    node(script, address)


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
