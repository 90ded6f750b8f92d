#!/usr/bin/env python3
"""The inspector's page in a real Chromium, by the scripts of web/e2e: every view, on a broker under load, on a directory that Apache Kafka
wrote, and on a damaged one; every action of the page; every demo; records meant to break it; a segment of 100,000 batches. The scripts fail
on errors of the page, on what axe finds, on wrong numbers and on long tasks (of processor time, so that a busy machine is no failure).

  page_e2e.py                 all of them
  page_e2e.py SCRIPT...       these only: `page_e2e.py partition zoom`
  page_e2e.py shots DIR       pictures of each view instead, for `./dev shots`
"""
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import threading

import harness
import wire
from harness import check, check_equal

WEB = os.path.join(harness.ROOT, "web")
GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")
# What each script looks at. The demos are the same everywhere.
ON_BROKER = ["shell", "partition", "actions", "hostile", "demos"]
ON_GOLDEN = ["partition", "shell"]
ON_DAMAGED = ["partition", "shell"]
ON_BIG = ["zoom"]
BIG_BATCHES = 100_000


def own(*words, stdin=None):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin, check=False)
    check_equal(done.returncode, 0, f"cordwood {' '.join(words)}: {done.stdout} {done.stderr}")
    return done.stdout


class Turns:
    """Scripts run side by side, or one of them alone."""

    def __init__(self):
        self.changed = threading.Condition()
        self.running = 0
        self.alone = False

    @contextlib.contextmanager
    def beside_others(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.alone)
            self.running += 1
        try:
            yield
        finally:
            with self.changed:
                self.running -= 1
                self.changed.notify_all()

    @contextlib.contextmanager
    def by_itself(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.alone)
            self.alone = True
            self.changed.wait_for(lambda: self.running == 0)
        try:
            yield
        finally:
            with self.changed:
                self.alone = False
                self.changed.notify_all()


TURNS = Turns()


def node(script, address, *words):
    def run():
        return subprocess.run(["node", os.path.join("e2e", f"{script}.mjs"), address, *words], cwd=WEB, capture_output=True, text=True,
                              timeout=900, check=False)

    with TURNS.beside_others():
        done = run()
    found = done.stdout.strip().splitlines()[:-1]
    if done.returncode != 0 and found and all("has no task over 100 ms" in line for line in found):
        # Two that share a processor's core make each other's time of it longer. What is truly long is long again.
        print(f"{script}: {'; '.join(found)}; once more, with nothing beside it", flush=True)
        with TURNS.by_itself():
            done = run()
    check_equal(done.returncode, 0, f"{script} {' '.join(words)}:\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def look(scripts, address, what, chosen):
    for script in scripts:
        if not chosen or script in chosen:
            print(f"{what}: {node(script, address)}", flush=True)


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
    own("topics", *server, "--create", "--topic", "playground", "--partitions", "2")
    own("console-producer", *server, "--topic", "playground", "--reader-property", "parse.key=true",
        stdin="".join(f"key-{i}\tvalue {i}\n" for i in range(60)))
    own("console-consumer", *server, "--topic", "playground", "--group", "resting", "--from-beginning", "--max-messages", "60")
    own("console-consumer", *server, "--topic", "orders", "--group", "billing", "--from-beginning", "--max-messages", "5000")
    own("console-consumer", *server, "--topic", "customers", "--group", "mailing", "--from-beginning", "--max-messages", "2000")


HOSTILE = [
    b'<img src=x onerror="broken=1"><script>broken=1</script>', b"\"><svg onload=broken=1>", b"javascript:broken=1",
    b'{@html "<b>bold</b>"} {{broken=1}} ${broken=1}', b"</pre></li></ul></main><h1>another page</h1>",
    "\u202eRTL override \u2066isolate without its end".encode(), b"nul \0 bell \x07 escape \x1b[31m backspace \x08",
    b"\xff\xfe no UTF-8 \xc3\x28", b"\xed\xa0\x80 a lone surrogate", b'{"lone":"\\ud800","number":123456789012345678901234567890}',
    b"[" * 5000, b'{"__proto__":{"broken":1}}', "a\u0300".encode() * 3000, b"x" * 900_000, b"<b>" * 300_000, b"",
]


def fill_hostile(address):
    """Records, and a group, meant to break the page."""
    server = ["--bootstrap-server", address]
    own("topics", *server, "--create", "--topic", "hostile", "--config", "retention.ms=-1")
    # Not by console-producer: what is no UTF-8 would be made such.
    with wire.Connection(int(address.rsplit(":", 1)[1])) as c:
        for value in HOSTILE:
            code, _ = wire.produce(c, "hostile", 0, wire.batch([(value[:200], value)]))
            check_equal(code, 0, f"produce {value[:40]!r}")
    own("console-consumer", *server, "--topic", "hostile", "--group", "<img src=x onerror=broken=1>", "--from-beginning", "--max-messages", "5")


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


def golden_copy(folder, name, case="transactions"):
    target = os.path.join(folder, name)
    shutil.copytree(os.path.join(GOLDEN, case, "data"), target)
    for at, _, names in os.walk(target):
        os.chmod(at, 0o755)
        for each in names:
            os.chmod(os.path.join(at, each), 0o644)
    return target


def logs_of(directory):
    found = sorted(os.path.join(at, name) for at, _, names in os.walk(directory) for name in names
                   if name.endswith(".log") and not os.path.basename(at).startswith("__") and os.path.getsize(os.path.join(at, name)) > 200)
    check(found, f"{directory} has no log")
    return found


def damaged_copy(folder):
    target = golden_copy(folder, "damaged")
    for path in logs_of(target):
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2)
            f.write(b"\xff" * 40)
    return target


def big_copy(folder):
    """One segment of 100,000 batches: one batch of Kafka's again and again. Its base offset lies outside the checksum."""
    target = golden_copy(folder, "big")
    path = logs_of(target)[0]
    with open(path, "rb") as f:
        length, = struct.unpack(">i", f.read(12)[8:])
        f.seek(0)
        batch = bytearray(f.read(12 + length))
    records, = struct.unpack(">i", batch[57:61])
    meta = os.path.join(os.path.dirname(path), "partition.metadata")
    os.mkdir(os.path.join(target, "big-0"))
    if os.path.exists(meta):
        with open(meta, encoding="ascii") as f:
            text = re.sub(r"topic_id: \S+", "topic_id: Q29yZHdvb2RCaWdUb3BpYw", f.read())
        with open(os.path.join(target, "big-0", "partition.metadata"), "w", encoding="ascii") as f:
            f.write(text)
    with open(os.path.join(target, "big-0", f"{0:020d}.log"), "wb") as f:
        for number in range(BIG_BATCHES):
            batch[0:8] = struct.pack(">q", number * records)
            f.write(batch)
    return target


def on_broker(folder, chosen):
    with harness.Cordwood(folder, overrides={"cordwood.inspector.listener": f"127.0.0.1:{harness.free_port()}",
                                             "cordwood.inspector.actions": "true"}) as broker:
        broker.start()
        fill(broker.address())
        fill_hostile(broker.address())
        load = Load(broker.address())
        # A member that stays, so that a reset of its group is refused.
        member = subprocess.Popen([harness.binary(), "console-consumer", "--bootstrap-server", broker.address(), "--topic", "playground",
                                   "--group", "reading", "--from-beginning"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if chosen[:1] == ["shots"]:
                print(node("shots", inspector_address(broker), os.path.abspath(chosen[1])))
            else:
                look(ON_BROKER, inspector_address(broker), "broker", chosen)
        finally:
            member.kill()
            member.wait()
            load.end()
        check_equal(broker.stop(), 0, "exit code of the broker")


def on_directories(folder, chosen):
    for make, what, scripts in [(lambda at: golden_copy(at, "golden"), "golden", ON_GOLDEN), (damaged_copy, "damaged", ON_DAMAGED),
                                (big_copy, "big", ON_BIG)]:
        if chosen and not set(chosen) & set(scripts):
            continue
        with Inspect(folder, make(folder)) as inspect:
            look(scripts, inspect.start(), what, chosen)


def need_packages():
    """`./dev test` has made them with the page; `./dev shots` builds the product alone."""
    modules = os.path.join(WEB, "node_modules")
    if os.path.exists(os.path.join(modules, "playwright-core")):
        return
    done = subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=WEB, timeout=600, check=False)
    check_equal(done.returncode, 0, "npm ci")
    for stamp in (".for-page", ".for-tests"):
        with open(os.path.join(modules, stamp), "w", encoding="ascii"):
            pass


def main():
    chosen = sys.argv[1:]
    need_packages()
    failures = []

    def part(body, folder):
        try:
            body(folder, chosen)
        except Exception as failure:  # pylint: disable=broad-except
            failures.append(failure)

    with harness.workspace("page") as folder:
        parts = [on_broker] if chosen[:1] == ["shots"] else [on_broker, on_directories]
        if chosen and chosen[0] != "shots" and not set(chosen) & set(ON_BROKER):
            parts = [on_directories]
        threads = [threading.Thread(target=part, args=(body, folder)) for body in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for failure in failures[1:]:
            print(f"FAILED: {failure}")
        if failures:
            raise failures[0]


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
