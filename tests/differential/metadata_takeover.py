"""The metadata log changes hands without a client in between: Cordwood's controller writes a directory, Apache Kafka 4.4.0
dumps it, starts on it and lists the same topics with the same ids; then the other way round, cleanly stopped and killed.

    metadata_takeover.py DRIVER        (tests/differential/metadata_driver.cc, built)

Needs java and the jars in $CORDWOOD_KAFKA_LIBS; without them it says so and fails.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIBS = os.environ.get("CORDWOOD_KAFKA_LIBS", "")
JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", f"{LIBS}/*"]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Place:
    """A directory with the ports that go with it."""

    def __init__(self, driver):
        self.driver = driver
        self.root = tempfile.mkdtemp(prefix="metadata-takeover-")
        self.data = os.path.join(self.root, "data")
        self.port, self.controller_port = free_port(), free_port()
        self.kafka = None

    def ours(self, *commands):
        words = [str(w) for w in (self.driver, self.data, self.port, self.controller_port, *commands)]
        run = subprocess.run(words, capture_output=True, text=True, timeout=120)
        check(run.returncode == 0, f"the driver failed: {run.stderr}")
        return {(f[0], int(f[2])): {"id": f[1], "leader": int(f[3]), "epoch": int(f[4]), "end": int(f[5])}
                for f in (line.split() for line in run.stdout.splitlines())}

    def dump(self):
        """What Kafka's dump tool says of every file of the metadata directory, without complaint."""
        directory = os.path.join(self.data, "__cluster_metadata-0")
        files = [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith((".log", ".checkpoint"))]
        legacy = os.path.join(self.data, "bootstrap.checkpoint")
        files += [legacy] if os.path.exists(legacy) else []
        text = ""
        for file in files:
            # The tool goes by the suffix and the name of the directory.
            run = subprocess.run(JAVA + ["org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder",
                                         "--print-data-log", "--files", file], capture_output=True, text=True, timeout=120)
            check(run.returncode == 0, run.stdout + run.stderr)
            check("skipping" not in run.stdout and "isvalid: false" not in run.stdout, run.stdout)
            text += run.stdout
        return text

    def start_kafka(self):
        config = os.path.join(self.root, "server.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={self.data}\n"
                       f"listeners=PLAINTEXT://localhost:{self.port},CONTROLLER://localhost:{self.controller_port}\n"
                       "controller.listener.names=CONTROLLER\ninter.broker.listener.name=PLAINTEXT\n"
                       f"controller.quorum.bootstrap.servers=localhost:{self.controller_port}\n"
                       "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
                       "transaction.state.log.min.isr=1\n")
        self.log = os.path.join(self.root, f"kafka-{time.time()}.log")
        options = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=info"]
        with open(self.log, "w", encoding="utf-8") as out:
            self.kafka = subprocess.Popen(JAVA[:1] + options + JAVA[1:] + ["kafka.Kafka", config], stdout=out, stderr=out)
        for _ in range(600):
            text = open(self.log, encoding="utf-8").read()
            if "Kafka Server started" in text:
                return text
            check(self.kafka.poll() is None, f"Kafka did not start:\n{text[-4000:]}")
            time.sleep(0.2)
        raise AssertionError(f"Kafka did not come up:\n{text[-4000:]}")

    def stop_kafka(self, how=signal.SIGTERM):
        self.kafka.send_signal(how)
        self.kafka.wait(60)
        text = open(self.log, encoding="utf-8").read()
        self.kafka = None
        return text

    def topics(self, *arguments):
        run = subprocess.run(JAVA[:1] + ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"] + JAVA[1:] +
                             ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", f"localhost:{self.port}",
                              *arguments], capture_output=True, text=True, timeout=120)
        check(run.returncode == 0, run.stdout + run.stderr)
        return run.stdout

    def described(self):
        text = self.topics("--describe")
        ids = dict(re.findall(r"Topic: (\S+)\s+TopicId: (\S+)", text))
        leaders = {(t, int(p)): l for t, p, l in re.findall(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)", text)}
        return ids, leaders, text

    def close(self):
        if self.kafka:
            self.kafka.kill()
            self.kafka.wait()
        shutil.rmtree(self.root)


def expect_same(place, before):
    ids, leaders, text = place.described()
    for (name, partition), state in before.items():
        check(ids.get(name) == state["id"], f"{name}: {ids.get(name)} instead of {state['id']}\n{text}")
        check(leaders.get((name, partition)) == "1", f"{name}-{partition} is not led\n{text}")
    check(set(leaders) == set(before), f"{sorted(leaders)} instead of {sorted(before)}")


def strays(place):
    return [d for d in os.listdir(place.data) if d.endswith("-stray")]


def cordwood_to_kafka_and_back(driver, stop):
    place = Place(driver)
    try:
        place.ours("create", "plain", 3, "create", "set", 1, "retention.ms=7200000", "create", "gone", 2, "append", "plain", 0, 5,
                   "append", "set", 0, 2, "delete", "gone", *stop)
        before = place.ours("list", *stop)
        check({k[0] for k in before} == {"plain", "set"}, before)
        check(before["plain", 0]["end"] == 5, before)
        dumped = place.dump()
        check("KRaftVoters" in dumped and '"REGISTER_BROKER_RECORD"' in dumped, dumped)
        text = place.start_kafka()
        check("Truncating" not in text and "stray" not in text.lower(), text)
        expect_same(place, before)
        check("retention.ms=7200000" in place.topics("--describe", "--topic", "set"), "the config is gone")
        place.topics("--create", "--topic", "theirs", "--partitions", "2", "--replication-factor", "1")
        place.stop_kafka()
        after = place.ours("append", "plain", 0, 1, "list", *stop)
        check(after["plain", 0]["id"] == before["plain", 0]["id"], after)
        check(after["plain", 0]["end"] == 6, after)
        check(after["plain", 0]["epoch"] > before["plain", 0]["epoch"] + 2, (before, after))
        check(after["theirs", 1]["leader"] == 1, after)
        place.dump()
        place.start_kafka()
        expect_same(place, after)
        place.stop_kafka(signal.SIGKILL)
        again = place.ours("list")
        check(set(again) == set(after), again)
        check(not strays(place), strays(place))
    finally:
        place.close()


def trimmed_log(driver):
    """Several snapshots were written, the oldest ones removed, and with them the beginning of the log."""
    place = Place(driver)
    try:
        settings = ("metadata.log.max.record.bytes.between.snapshots=2048", "internal.metadata.log.segment.bytes=8192",
                    "metadata.max.retention.bytes=24576")
        topics = [word for i in range(60) for word in ("create", f"t{i}", 1)]
        place.ours(*settings, *topics, "append", "t7", 0, 3, "keep_house")
        before = place.ours(*settings, "create", "last", 2, "keep_house", "list")
        directory = os.path.join(place.data, "__cluster_metadata-0")
        names = sorted(os.listdir(directory))
        logs = [n for n in names if n.endswith(".log")]
        snapshots = [n for n in names if n.endswith(".checkpoint")]
        check(int(logs[0][:20]) > 0 and len(logs) > 1, names)
        check(len(snapshots) > 1 and snapshots[0] != "0" * 20 + "-" + "0" * 10 + ".checkpoint", names)
        check(int(logs[0][:20]) <= int(snapshots[0][:20]), names)
        place.dump()
        text = place.start_kafka()
        check("Truncating" not in text and "stray" not in text.lower(), text)
        expect_same(place, before)
        place.topics("--create", "--topic", "theirs", "--partitions", "2", "--replication-factor", "1")
        place.stop_kafka()
        after = place.ours(*settings, "keep_house", "list", "kill")
        check(set(after) == set(before) | {("theirs", 0), ("theirs", 1)}, after)
        check(after["t7", 0]["end"] == 3, after)
        place.dump()
        place.start_kafka()
        expect_same(place, after)
        place.stop_kafka()
        check(not strays(place), strays(place))
    finally:
        place.close()


def kafka_first(driver, release, standalone):
    """A directory that Kafka formatted: with its default levels (ELR on) and with our own level."""
    place = Place(driver)
    try:
        config = os.path.join(place.root, "format.properties")
        quorum = f"controller.quorum.bootstrap.servers=localhost:{place.controller_port}\n"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={place.data}\n{quorum}"
                       f"listeners=PLAINTEXT://localhost:{place.port},CONTROLLER://localhost:{place.controller_port}\n"
                       "controller.listener.names=CONTROLLER\n")
        run = subprocess.run(JAVA + ["kafka.tools.StorageTool", "format", "-t", "OOdkAzh4TDi6J5yMrkyjEg", "-c", config,
                                     *standalone, *release], capture_output=True, text=True, timeout=120)
        check(run.returncode == 0, run.stdout + run.stderr)
        # Once never started by Kafka, once after it ran.
        fresh = os.path.join(place.root, "fresh")
        shutil.copytree(place.data, fresh)
        place.ours("create", "mine", 2, "list")
        place.start_kafka()
        check(set(place.described()[1]) == {("mine", 0), ("mine", 1)}, "topics differ")
        place.stop_kafka()
        shutil.rmtree(place.data)
        shutil.copytree(fresh, place.data)
        place.start_kafka()
        place.topics("--create", "--topic", "theirs", "--partitions", "2", "--replication-factor", "1",
                     "--config", "min.insync.replicas=1")
        place.stop_kafka()
        for stop in ((), ("kill",)):
            before = place.ours("create", f"mine{len(stop)}", 1, "list", *stop)
            check(all(p["leader"] == 1 for p in before.values()), before)
            place.start_kafka()
            expect_same(place, before)
            place.stop_kafka()
        check(not strays(place), strays(place))
    finally:
        place.close()


def main():
    check(LIBS and os.path.isdir(LIBS), "CORDWOOD_KAFKA_LIBS names no directory with Kafka's jars")
    driver = os.path.abspath(sys.argv[1])
    for stop in ((), ("kill",)):
        cordwood_to_kafka_and_back(driver, stop)
        print(f"Cordwood -> Kafka -> Cordwood -> Kafka -> Cordwood, {stop or ('clean stop',)}: as expected", flush=True)
    trimmed_log(driver)
    print("a trimmed metadata log: as expected", flush=True)
    for release in ((), ("--release-version", "4.0")):
        kafka_first(driver, release, ("--standalone",))
        print(f"formatted by Kafka {release}: as expected", flush=True)


if __name__ == "__main__":
    main()
