"""The same topic administration asked of Cordwood and of Apache Kafka 4.4.0: every answer must be the same, in every version.

What must differ is made equal first: topic ids, ports, the cluster id and the order where Kafka has none.
"""
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402
from schema_wire import Client, Closed  # noqa: E402

ZERO = uuid.UUID(int=0)


class Side:
    """One of the two brokers, with the ids it gave to topics."""

    def __init__(self, port):
        self.client = Client(port)
        self.port = port
        self.names = {}  # topic id -> name
        self.ids = {}

    def learn(self):
        answer = self.client.call("03_metadata", 12, {"topics": None})
        for topic in answer["topics"]:
            self.names[topic["topic_id"]] = topic["name"]
            self.ids[topic["name"]] = topic["topic_id"]

    def fill(self, value):
        """The request with "id of NAME" replaced by this side's id."""
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        if isinstance(value, str) and value.startswith("id of "):
            return self.ids[value[6:]]
        return value

    def plain(self, value, key=""):
        """The answer without what is this side's own."""
        if isinstance(value, dict):
            return {k: self.plain(v, k) for k, v in value.items()}
        if isinstance(value, list):
            items = [self.plain(v) for v in value]
            if key == "config_resources":
                items.sort(key=lambda r: (r.get("resource_type", 0), r["resource_name"]))
            if key in ("topics", "responses", "results"):
                items.sort(key=lambda t: (str(t.get("name")), str(t.get("topic_id")), t.get("error_code", 0)))
            return items
        if isinstance(value, uuid.UUID):
            if value == ZERO:
                return "zero"
            return "id of " + self.names[value] if value in self.names else "an id"
        if value == self.port:
            return "the port"
        return "the cluster" if key == "cluster_id" and value else value

    def ask(self, schema, version, request):
        try:
            answer = self.client.call(schema, version, self.fill(request))
        except Closed:
            return "closed"
        self.learn()
        # Kafka answers a creation before its own broker has heard of the topic.
        until = time.monotonic() + 5
        while self.strange_ids(answer) - self.strange_ids(request) and time.monotonic() < until:
            time.sleep(0.02)
            self.learn()
        return self.plain(answer)

    def strange_ids(self, value):
        """The topic ids in `value` that Metadata has not told."""
        if isinstance(value, dict):
            return set().union(*map(self.strange_ids, value.values()))
        if isinstance(value, list):
            return set().union(*map(self.strange_ids, value))
        return {value} - {ZERO} - set(self.names) if isinstance(value, uuid.UUID) else set()


def topic(name, partitions=1, factor=1, configs=(), assignments=()):
    return {"name": name, "num_partitions": partitions, "replication_factor": factor,
            "configs": [{"name": k, "value": v} for k, v in configs],
            "assignments": [{"partition_index": i, "broker_ids": b} for i, b in assignments]}


def create(*topics, **more):
    return {"topics": list(topics), "timeout_ms": 30000, **more}


def told(name, *assignments):
    return topic(name, -1, -1, assignments=assignments)


def grow(name, count, assignments=None):
    return {"name": name, "count": count,
            "assignments": None if assignments is None else [{"broker_ids": b} for b in assignments]}


LONG = "x" * 249


def questions():
    """(what it is about, schema, versions, request)"""
    c, d, p, m, t = "19_create_topics", "20_delete_topics", "37_create_partitions", "03_metadata", "75_describe_topic_partitions"
    for version in range(2, 8):
        yield "create", c, version, create(topic(f"plain{version}", 2), topic(f"default{version}", -1, -1),
                                           topic(f"set{version}", configs=[("retention.ms", "5000"), ("cleanup.policy", "compact")]))
    yield "validate only", c, 7, create(topic("never", 3), validate_only=True)
    yield "validate only, fails", c, 7, create(topic("never", 0), validate_only=True)
    yield "no topics", c, 7, create()
    yield "timeouts", c, 7, create(topic("late"), timeout_ms=0)
    yield "timeouts", c, 5, create(topic("late"), topic("late"), topic(""), timeout_ms=-1)
    for name in ("", ".", "..", "...", "a b", "a/b", "é", "a\n", LONG, LONG + "y", "é" * 249, "é" * 250, "__x", "plain.x",
                 "__cluster_metadata"):
        yield f"name {name[:10]!r}", c, 7, create(topic(name))
    yield "exists", c, 7, create(topic("plain7"))
    yield "collides", c, 7, create(topic("plain_x"))
    yield "collide in one request", c, 7, create(topic("m.n"), topic("m_n"))
    yield "collide with several", c, 7, create(topic("plain_x"), topic("plain.x"))
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 3), (0, 0), (-1, 3)):
        yield f"counts {partitions} {factor}", c, 7, create(topic("n", partitions, factor))
    for key, value in (("nope", "1"), ("retention.ms", None), ("retention.ms", "abc"), ("retention.ms", "-2"),
                       ("cleanup.policy", "foo"), ("compression.type", "brotli"), ("preallocate", "maybe"),
                       ("segment.bytes", "1"), ("remote.storage.enable", "true"), ("message.format.version", "1")):
        yield f"config {key}={value}", c, 7, create(topic("n", configs=[(key, value)]))
    yield "two configs wrong", c, 7, create(topic("n", configs=[("retention.ms", "abc"), ("nope", "1")]))
    yield "config twice", c, 7, create(topic("twice-set", configs=[("retention.ms", "1"), ("retention.ms", "2")]))
    yield "config wrong and counts wrong", c, 7, create(topic("n", 0, 0, configs=[("nope", "1")]))
    yield "twice", c, 7, create(topic("n1"), topic("n1"), topic("n2"))
    yield "too many", c, 7, create(topic("n3", 9999), topic("n4", 2), topic("plain7"))
    yield "told", c, 7, create(told("told1", (0, [1]), (1, [1])))
    for name, assignments in (("unknown", [(0, [9])]), ("double", [(0, [1, 1])]), ("empty", [(0, [])]), ("gap", [(0, [1]), (2, [1])]),
                              ("index twice", [(0, [1]), (0, [1])]), ("negative", [(-1, [1])]), ("factors", [(0, [1]), (1, [1, 9])])):
        yield f"told {name}", c, 7, create(told("n5", *assignments))
    yield "told with count", c, 7, create(topic("n6", 1, -1, assignments=[(0, [1])]))
    yield "told with factor", c, 7, create(topic("n6", -1, 1, assignments=[(0, [1])]))
    yield "told with both", c, 7, create(topic("n6", 1, 1, assignments=[(0, [1])]))

    yield "grow", p, 0, {"topics": [grow("plain2", 4)], "timeout_ms": 30000}
    for version in range(0, 4):
        yield "grow refused", p, version, {"topics": [
            grow("plain3", 2), grow("plain4", 1), grow("plain5", 0), grow("plain6", -1), grow("nope", 3), grow("a b", 3),
            grow("plain7", 3, [[1], [1]]), grow("default2", 2, [[9]]), grow("default3", 2, [[]]), grow("default4", 2, [[1, 1]]),
            grow("default5", 2, []), grow("default6", 3, [[1], []]), grow("default7", 20000 if version == 3 else 2, [[1, 9]])],
            "timeout_ms": 30000}
    yield "grow told", p, 3, {"topics": [grow("plain3", 3, [[1]])], "timeout_ms": 30000}
    yield "grow only to see", p, 3, {"topics": [grow("plain4", 9)], "timeout_ms": 30000, "validate_only": True}
    yield "grow twice", p, 3, {"topics": [grow("plain4", 5), grow("plain4", 6), grow("plain5", 3)], "timeout_ms": 30000}
    yield "grow too much", p, 3, {"topics": [grow("plain6", 10003), grow("plain7", 3)], "timeout_ms": 30000}
    yield "grow no time", p, 3, {"topics": [grow("plain6", 5)], "timeout_ms": 0}
    yield "grow nothing", p, 3, {"topics": [], "timeout_ms": 30000}

    for version in range(0, 14):
        all_topics = [] if version == 0 else None
        yield "metadata of all", m, version, {"topics": all_topics, "allow_auto_topic_creation": False,
                                              "include_topic_authorized_operations": True}
        # Below version 4 asking is creating; auto_creation() looks at that.
        odd = ("nope", "__cluster_metadata", "__consumer_offsets") if version > 3 else ()
        named = [{"name": n} for n in ("plain3", "plain3", "a b", "", "..", *odd)]
        yield "metadata by name", m, version, {"topics": named, "allow_auto_topic_creation": False,
                                               "include_cluster_authorized_operations": 8 <= version <= 10}
        if version > 0:
            yield "metadata of none", m, version, {"topics": []}
    for version in (10, 11, 12, 13):
        yield "by id", m, version, {"topics": [{"topic_id": "id of plain3", "name": None}]}
        yield "by id and name", m, version, {"topics": [{"topic_id": "id of plain3", "name": "plain3"}, {"name": "plain4"}]}
        yield "unknown id", m, version, {"topics": [{"topic_id": uuid.UUID(int=12345), "name": None}]}
        yield "an id twice", m, version, {"topics": [{"topic_id": "id of plain3", "name": None}] * 2}
        yield "no name", m, version, {"topics": [{"name": None}, {"name": "plain3"}]}

    def page(names=(), limit=2000, cursor=None):
        return {"topics": [{"name": n} for n in names], "response_partition_limit": limit,
                "cursor": cursor and {"topic_name": cursor[0], "partition_index": cursor[1]}}
    yield "all partitions", t, 0, page()
    for limit in (0, -1, 1, 2, 3, 4):
        yield f"pages of {limit}", t, 0, page(("plain3", "plain4", "nope", "plain5"), limit)
        yield f"pages of {limit} with an unknown last", t, 0, page(("plain4", "plain5", "zzz"), limit)
    yield "odd names", t, 0, page(("nope", "a b", "plain3", "plain3", "__consumer_offsets", "__cluster_metadata"))
    yield "empty name", t, 0, page(("",))
    yield "empty name and others", t, 0, page(("", "plain3"))
    for cursor in (("plain3", 1), ("plain3", 3), ("plain3", 99), ("plain3", -1), ("plain35", 0), ("zzz", 0), ("", 0), ("a b", 0)):
        yield f"cursor {cursor}", t, 0, page(("plain3", "plain4"), 2, cursor)
        yield f"cursor {cursor} over all", t, 0, page((), 2, cursor)

    for version in range(3):
        for endpoint in ((1,) if version == 0 else (1, 2, 7)):
            yield f"cluster, endpoint {endpoint}", "60_describe_cluster", version, {
                "include_cluster_authorized_operations": True, "include_fenced_brokers": version == 2,
                **({"endpoint_type": endpoint} if version else {})}

    for kind, name, setting, value in ((32, "readers", "consumer.session.timeout.ms", "50000"), (16, "pushes", "interval.ms", "5000")):
        yield "set", "44_incremental_alter_configs", 1, {"validate_only": False, "resources": [
            {"resource_type": kind, "resource_name": name, "configs": [{"name": setting, "config_operation": 0, "value": value}]}]}
    yield "resources that have settings", "74_list_config_resources", 0, {}
    for types in ([], [2], [4], [8], [16], [32], [32, 16, 32], [16, 2], [0], [-1], [1], [3], [64], [99], [16, 99]):
        yield f"resources of {types}", "74_list_config_resources", 1, {"resource_types": types}

    yield "delete no time", d, 6, {"topics": [{"name": "plain2"}], "timeout_ms": 0}
    for version in range(1, 6):
        yield "delete", d, version, {"topic_names": [f"plain{version}", "nope", "a b", "", "__cluster_metadata"], "timeout_ms": 30000}
    yield "delete twice", d, 5, {"topic_names": ["plain6", "plain6", "set7"], "timeout_ms": 30000}
    yield "delete by id", d, 6, {"topics": [{"topic_id": "id of plain7"}, {"topic_id": uuid.UUID(int=77)}, {"name": "default7"}],
                                 "timeout_ms": 30000}
    yield "delete neither nor", d, 6, {"topics": [{}], "timeout_ms": 30000}
    yield "delete both", d, 6, {"topics": [{"name": "default6", "topic_id": "id of default6"}], "timeout_ms": 30000}
    yield "delete an id twice", d, 6, {"topics": [{"topic_id": "id of default6"}] * 2, "timeout_ms": 30000}
    yield "delete by name and by id", d, 6, {"topics": [{"name": "default6"}, {"topic_id": "id of default6"}], "timeout_ms": 30000}
    yield "delete nothing", d, 6, {"topics": [], "timeout_ms": 30000}
    yield "what is left", m, 12, {"topics": None}


def differences(ours, theirs, path=""):
    """Where the two answers differ, as lines."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and set(ours) == set(theirs):
        return [line for key in ours for line in differences(ours[key], theirs[key], f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [line for i, pair in enumerate(zip(ours, theirs)) for line in differences(*pair, f"{path}[{i}]")]
    return [] if ours == theirs else [f"{path}: {str(ours)[:600]}\n      Kafka: {str(theirs)[:600]}"]


def auto_creation(ours, theirs):
    """Metadata makes topics on the way; both sides answer 3 first and have the topic soon after."""
    lines = []
    for version in (0, 3, 4, 9, 12, 13):
        request = {"topics": [{"name": f"auto{version}"}, {"name": f"auto{version}"}, {"name": "a_b.c"}, {"name": "b c"}],
                   "allow_auto_topic_creation": True}
        answers = [side.ask("03_metadata", version, request) for side in (ours, theirs)]
        lines += differences(*answers, f"auto-creation v{version}")
        time.sleep(1)
        again = {"topics": [{"name": f"auto{version}"}], "allow_auto_topic_creation": False}
        answers = [side.ask("03_metadata", version, again) for side in (ours, theirs)]
        lines += differences(*answers, f"auto-created v{version}")
        if answers[0]["topics"][0]["error_code"] != 0:
            lines.append(f"auto{version} was not created")
    return lines


def main():
    with harness.workspace("topic-admin") as folder:
        os.makedirs(os.path.join(folder, "k"))
        with harness.Kafka(os.path.join(folder, "k")) as kafka, harness.Cordwood(folder) as cordwood:
            kafka.format().start()
            cordwood.start()
            ours, theirs = Side(cordwood.port), Side(kafka.port)
            asked = 0
            found = []
            for what, schema, version, request in questions():
                asked += 1
                answers = [side.ask(schema, version, request) for side in (ours, theirs)]
                found += [f"{what} ({schema} v{version}) {line}" for line in differences(*answers)]
            found += auto_creation(ours, theirs)
            print("\n".join(found))
            print(f"{asked} questions, {len(found)} differences")
            harness.check(asked > 150, "questions were lost")
            harness.check(not found, "answers differ from Kafka's")


if __name__ == "__main__":
    harness.run(main)
