"""A log directory that is not there when the broker starts, and comes back later: Apache Kafka and Cordwood do the same.

Two log directories. For one start the second one is away (something else has its name); meanwhile topics are deleted, made again
and made anew. Then it is there again. Compared: what Metadata says of each partition, what a produce and a group's requests are
answered, which partition directories lie where, and which records are read once both directories are back.
"""
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import wire  # noqa: E402
from failed_directories import metadata  # noqa: E402
from harness import check, check_equal  # noqa: E402
from wire import Connection, batch, produce  # noqa: E402

T = 1_700_000_000_000
# kept: asked all the time; gone: deleted meanwhile; again: deleted and made again meanwhile.
TOPICS = ["kept", "gone", "again"]
PARTITIONS = 4
OFFSETS = "__consumer_offsets"
# One group of each partition of __consumer_offsets.
GROUPS = {wire.offsets_partition(name, PARTITIONS): name for name in (f"group-{i}" for i in range(40))}


def delete_topic(connection, name):
    answer = connection.call(20, 1, struct.pack(">i", 1) + wire.string(name) + struct.pack(">i", 30000))
    check_equal(struct.unpack(">h", answer[-2:])[0], 0, f"deletion of {name}")


def names(directory):
    """What lies there of partitions, without the ids in the names."""
    if not os.path.isdir(directory):
        return "away"
    return sorted(re.sub(r"\.[0-9a-f]{32}-", ".*-", name) for name in os.listdir(directory)
                  if re.match(r"(kept|gone|again|fresh|__consumer_offsets)-\d", name) and not name.endswith("-delete"))


def told(connection, topics, places):
    """Of each partition: error, leader and offline replicas in Metadata; code of a produce; where it lay first."""
    found = {}
    for topic in topics:
        state = metadata(connection, topic)
        for partition in sorted(state):
            topic_error, error, leader, _replicas, _isr, offline = state[partition]
            code = produce(connection, topic, partition, batch([(b"k", b"later")], base_timestamp=T))[0]
            found[f"{topic} of {places.get((topic, partition), 'nowhere')}"] = (topic_error, error, leader, offline, code)
    for partition, group in sorted(GROUPS.items()):
        codes = wire.group_codes(connection, group, "kept")
        # The name that nobody uses is of another partition.
        del codes["DeleteGroups"]
        found.setdefault(f"groups of {places[(OFFSETS, partition)]}", set()).add(str(codes))
    return found


def count(connection, topic, partition):
    """Records from the log start to the end, or the error."""
    code, _, end = wire.list_offset(connection, topic, partition, -1)
    if code != 0:
        return f"error {code}"
    at, number = wire.list_offset(connection, topic, partition, -2)[2], 0
    while at < end:
        code, _, data = wire.fetch(connection, topic, partition, at)
        check_equal(code, 0, f"fetch of {topic}-{partition}")
        for base, raw in wire.batches(data):
            number += struct.unpack(">i", raw[57:61])[0]
            at = base + struct.unpack(">i", raw[23:27])[0] + 1
    return number


def wait_until_led(connection, topics, only=None):
    """Until the partitions (of `only`, when given) have a leader: neither broker has them all at once."""
    deadline = time.monotonic() + 30
    for topic in topics:
        while True:
            state = metadata(connection, topic)
            if all(s[2] == 1 for p, s in state.items() if only is None or (topic, p) in only) and state:
                break
            check(time.monotonic() < deadline, f"{topic} has no leader: {state}")
            time.sleep(0.1)


class Scenario:
    def __init__(self, make, folder, how):
        self.make = make
        self.folder = folder
        self.how = how
        self.dirs = [os.path.join(folder, "one"), os.path.join(folder, "two")]

    def start(self, dirs):
        overrides = {"metadata.log.dir": self.dirs[0], "log.segment.delete.delay.ms": "100",
                     "offsets.topic.num.partitions": str(PARTITIONS), "group.initial.rebalance.delay.ms": "0"}
        broker = self.make(self.folder, dirs, overrides)
        broker.start()
        return broker

    def run(self):
        with self.start(self.dirs) as broker, Connection(broker.port) as c:
            for topic in TOPICS:
                wire.create_topic(c, topic, PARTITIONS, {"retention.ms": "-1"})
            wire.find_coordinator(c, "makes the topic")
            wait_until_led(c, [*TOPICS, OFFSETS])
            for topic in TOPICS:
                for p in range(PARTITIONS):
                    check_equal(produce(c, topic, p, batch([(b"k", b"v")] * 3, base_timestamp=T))[0], 0, "first produce")
            broker.stop()
        places = {}
        for name, directory in (("one", self.dirs[0]), ("two", self.dirs[1])):
            for entry in names(directory):
                places[(entry.rsplit("-", 1)[0], int(entry.rsplit("-", 1)[1]))] = name
        # Which partition lies where is each broker's own affair; that both hold some of each topic is not.
        for topic in [*TOPICS, OFFSETS]:
            check_equal({places[(topic, p)] for p in range(PARTITIONS)}, {"one", "two"}, f"directories of {topic}")
        here = {at for at, place in places.items() if place == "one"}

        away = os.path.join(self.folder, "away")
        if self.how == "broken":
            os.rename(self.dirs[1], away)
            with open(self.dirs[1], "w", encoding="ascii") as f:
                f.write("no directory")
        result = {}
        with self.start(self.dirs if self.how == "broken" else self.dirs[:1]) as broker, Connection(broker.port) as c:
            wait_until_led(c, [*TOPICS, OFFSETS], here)
            time.sleep(2)  # what it would do to the others it has done by now
            result["meanwhile"] = told(c, TOPICS, places)
            result["meanwhile, in one"] = self.by_origin(names(self.dirs[0]), places)
            delete_topic(c, "gone")
            delete_topic(c, "again")
            time.sleep(1)
            wire.create_topic(c, "again", PARTITIONS, {"retention.ms": "-1"})
            wire.create_topic(c, "fresh", 2)
            time.sleep(2)
            result["made meanwhile"] = {topic: sorted((s[0:3], s[5]) for s in metadata(c, topic).values())
                                        for topic in ("again", "fresh")}
            time.sleep(2)
            result["in one, in the end"] = self.by_origin(names(self.dirs[0]), places)
            broker.stop()
        if self.how == "broken":
            os.remove(self.dirs[1])
            os.rename(away, self.dirs[1])
        with self.start(self.dirs) as broker, Connection(broker.port) as c:
            wait_until_led(c, ["kept", "again", "fresh", OFFSETS])
            time.sleep(1)
            result["in the end"] = {f"{topic} of {places.get((topic, p), 'nowhere')}": count(c, topic, p)
                                    for topic, number in (("kept", PARTITIONS), ("again", PARTITIONS), ("fresh", 2))
                                    for p in range(number)}
            result["groups, in the end"] = sorted(str(wire.group_codes(c, group, "kept")) for group in GROUPS.values())
            result["one, in the end"] = self.by_origin(names(self.dirs[0]), places)
            result["two, in the end"] = self.by_origin(names(self.dirs[1]), places)
            broker.stop()
        return result

    @staticmethod
    def by_origin(entries, places):
        """How many of each topic, by where they lay first and what is behind the name."""
        found = {}
        if entries == "away":
            return entries
        for entry in entries:
            topic, partition, suffix = re.fullmatch(r"(\w+)-(\d+)(.*)", entry).groups()
            key = f"{topic}{suffix} of {places.get((topic, int(partition)), 'nowhere')}"
            found[key] = found.get(key, 0) + 1
        return found


def main():
    with harness.workspace("lost") as folder:
        def run(side, how):
            own = os.path.join(folder, f"{how.replace(' ', '-')}-{side.__name__}")
            os.makedirs(own)
            dirs = [os.path.join(own, "one"), os.path.join(own, "two")]
            if side is harness.Kafka:
                harness.Kafka(own, dirs, {"metadata.log.dir": dirs[0]}).format()
            seen = Scenario(side, own, how).run()
            for part, what in seen.items():
                print(f"{how}, {side.__name__}: {part}: {what}", flush=True)
            return seen

        expected = run(harness.Kafka, "broken")
        check_equal(expected["in the end"]["kept of two"], 3, "records of Kafka that were away")
        # Apache Kafka makes empty logs for the partitions of a directory that log.dirs does not name any more, leads them, and
        # refuses to start once it is named again. Cordwood takes such a directory for a broken one: docs/compat.md.
        for how in ("broken", "not named"):
            seen = run(harness.Cordwood, how)
            for part in expected:
                check_equal(seen.get(part), expected[part], f"{how}: {part}")
        print("Cordwood does as Apache Kafka does")


if __name__ == "__main__":
    harness.run(main)
