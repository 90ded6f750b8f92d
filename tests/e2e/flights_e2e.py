"""The flights of 2013 through every client: each codec written once and read back by seven readers, byte for byte.

    tests/with_clients.sh tests/e2e/flights_e2e.py [PATH OF THE BROKER'S BINARY]

Then: 200 look-ups by time against a search through the data; a group of two, of which one leaves; commits that survive a
restart; what auto.offset.reset does once the committed offset has been deleted. Needs node, kcat and Java; franz-go is left
out, with a message, where there is no Go 1.21. With CORDWOOD_FLIGHTS_KAFKA=1 it runs against Apache Kafka instead, which
must pass it as well. Environment besides: examples/flights/flights.py.
"""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import harness
from harness import ROOT, TestFailure, check, check_equal

EXAMPLE = os.path.join(ROOT, "examples", "flights")
sys.path.insert(0, EXAMPLE)

import confluent_kafka  # noqa: E402
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402

import flights  # noqa: E402

TOPICS = [flights.topic_of(codec) for codec in flights.CODECS]
LOOKUPS = 200
READER_SECONDS = 400


def run_reader(command, env=None):
    """A program that prints what it read: its JSON."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=READER_SECONDS, check=False, env=env, cwd=EXAMPLE)
    if done.returncode != 0:
        raise TestFailure(f"{command[:3]} ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def python_reader(script):
    return lambda broker: run_reader([sys.executable, os.path.join(EXAMPLE, script), broker.address(), *TOPICS])


def read_with_kafkajs(broker):
    return run_reader(["node", os.path.join(EXAMPLE, "consume.js"), broker.address(), *TOPICS],
                      {**os.environ, "NODE_PATH": harness.node_modules()})


def go_is_new_enough():
    if shutil.which("go") is None:
        return False
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"go(\d+)\.(\d+)", version)
    return match is not None and (int(match.group(1)), int(match.group(2))) >= (1, 21)


def read_with_franz_go(broker, folder):
    program = os.path.join(folder, "consume_go")
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=EXAMPLE, capture_output=True, text=True, check=False)
    check_equal(built.returncode, 0, f"go build: {built.stderr}")
    return run_reader([program, broker.address(), *TOPICS])


def digest_lines(topic, lines, parse):
    digests = flights.Digests()
    for line in lines:
        digests.add(topic, *parse(line))
    return {t: {str(p): d.result() for (_, p), d in sorted(digests.of.items())} for t in (topic,)}


def parse_kcat(line):
    partition, timestamp, key_size, key, value = line.rstrip(b"\n").split(b"\t", 4)
    return int(partition), None if key_size == b"-1" else key, value, int(timestamp)


def read_with_kcat(broker):
    result = {}
    for topic in TOPICS:
        command = ["kcat", "-C", "-q", "-b", broker.address(), "-t", topic, "-o", "beginning", "-e", "-X", "check.crcs=true",
                   "-f", "%p\t%T\t%K\t%k\t%s\n"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            result.update(digest_lines(topic, reader.stdout, parse_kcat))
            errors = reader.stderr.read()
        check_equal(reader.returncode, 0, f"kcat: {errors}")
    return result


def parse_console(line):
    when, partition, key, value = line.rstrip(b"\n").split(b"\t", 3)
    check(when.startswith(b"CreateTime:") and partition.startswith(b"Partition:"), f"the console consumer printed {line[:200]}")
    return int(partition[10:]), None if key == b"null" else key, value, int(when[11:])


def read_with_console_consumer(broker, expected):
    """One run for all topics would mix them, so each has its own; two at a time."""
    def read(topic):
        count = sum(n for n, _ in expected[topic].values())
        command = [*harness.JAVA, *harness.QUIET, "-cp", f"{harness.kafka_libs()}/*",
                   "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.address(), "--topic", topic,
                   "--from-beginning", "--max-messages", str(count), "--timeout-ms", "60000"]
        for name in ("print.timestamp", "print.partition", "print.key"):
            command += ["--formatter-property", f"{name}=true"]
        errors = os.path.join(os.path.dirname(broker.log), f"console-{topic}.err")
        with open(errors, "wb") as err, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err) as reader:
            result = digest_lines(topic, reader.stdout, parse_console)
        with open(errors, encoding="utf-8") as err:
            check_equal(reader.returncode, 0, f"kafka-console-consumer: {err.read()[-2000:]}")
        return result

    result = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for part in pool.map(read, TOPICS):
            result.update(part)
    return result


def differences(got, expected):
    return [f"{topic} {partition}: {got.get(topic, {}).get(partition)}, expected {value}"
            for topic, partitions in expected.items() for partition, value in partitions.items()
            if got.get(topic, {}).get(partition) != value] + [f"{t}: unexpected" for t in got if t not in expected]


def check_readers(broker, expected, folder):
    readers = {
        "confluent-kafka": python_reader("consume_confluent.py"),
        "kafka-python": python_reader("consume_kafka_python.py"),
        "aiokafka": python_reader("consume_aiokafka.py"),
        "kafkajs": read_with_kafkajs,
        "kcat": read_with_kcat,
        "kafka-console-consumer": lambda b: read_with_console_consumer(b, expected),
    }
    if go_is_new_enough():
        readers["franz-go"] = lambda b: read_with_franz_go(b, folder)
    else:
        print("franz-go is left out: there is no Go 1.21 or newer here")

    def timed(name):
        begin = time.monotonic()
        got = readers[name](broker)
        return got, time.monotonic() - begin

    # Two at a time: the readers cost more than the broker.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(timed, name) for name in readers}
        for name, future in futures.items():
            got, seconds = future.result()
            wrong = differences(got, expected)
            check(not wrong, f"{name} read something else: {wrong[:5]}")
            print(f"{name}: {len(TOPICS)} topics as written, {seconds:.1f} s", flush=True)


def timestamps_by_partition():
    result = [[] for _ in range(flights.PARTITIONS)]
    for partition, _, _, timestamp in flights.records():
        result[partition].append(timestamp)
    return result


def consumer_of(broker, group, **settings):
    return Consumer({"bootstrap.servers": broker.address(), "group.id": group, "enable.auto.commit": False,
                     "auto.offset.reset": "earliest", "session.timeout.ms": 10000, "heartbeat.interval.ms": 500,
                     **{k.replace("_", "."): v for k, v in settings.items()}})


def check_lookups(broker, chance):
    """The first offset whose timestamp is not below the one asked for; the end where there is none."""
    written = timestamps_by_partition()
    low, high = min(map(min, written)), max(map(max, written))
    consumer = consumer_of(broker, "lookups")
    for number in range(LOOKUPS):
        topic = TOPICS[number % len(TOPICS)]
        when = {0: low - 1, 1: low, 2: high, 3: high + 1}.get(number, chance.randint(low, high))
        if chance.random() < 0.5:
            when -= when % 3_600_000  # an hour that records have
        asked = [TopicPartition(topic, p, when) for p in range(flights.PARTITIONS)]
        for found in consumer.offsets_for_times(asked, timeout=30):
            times = written[found.partition]
            expected = next((i for i, t in enumerate(times) if t >= when), None)
            if expected is None:
                expected = confluent_kafka.OFFSET_END
            check_equal(found.offset, expected, f"{topic}-{found.partition} at {when}")
    consumer.close()
    print(f"{LOOKUPS} look-ups by time, {LOOKUPS * flights.PARTITIONS} offsets, as in the data", flush=True)


def poll_until(consumers, condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {seconds} s")
        for consumer in consumers:
            message = consumer.poll(0.05)
            if message is not None and message.error() is not None:
                raise KafkaException(message.error())


def partitions_of(consumer):
    return sorted(p.partition for p in consumer.assignment())


def committed_offsets(consumer, topic, seconds=30):
    """Asked again while the group's coordinator is still coming up."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = consumer.committed([TopicPartition(topic, p) for p in range(flights.PARTITIONS)], timeout=10)
            return [p.offset for p in found]
        except KafkaException as failure:
            starting = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
                        KafkaError.COORDINATOR_NOT_AVAILABLE)
            if time.monotonic() > deadline or failure.args[0].code() not in starting:
                raise
        time.sleep(0.1)


def check_group(broker):
    """Two members share three partitions; one leaves and the other has them all; commits survive a restart."""
    topic = TOPICS[0]
    first, second = consumer_of(broker, "sharers"), consumer_of(broker, "sharers")
    for consumer in (first, second):
        consumer.subscribe([topic])

    def shared():
        a, b = partitions_of(first), partitions_of(second)
        return a and b and sorted(a + b) == [0, 1, 2]

    poll_until([first, second], shared, "two members share the partitions")
    second.close()
    poll_until([first], lambda: partitions_of(first) == [0, 1, 2], "the other takes over when one leaves")
    committed = first.commit(offsets=[TopicPartition(topic, p, 100 + p) for p in range(flights.PARTITIONS)], asynchronous=False)
    check(all(p.error is None for p in committed), f"commit: {committed}")
    first.close()

    broker.stop()
    broker.wanted_port = broker.port
    broker.start()
    again = consumer_of(broker, "sharers")
    check_equal(committed_offsets(again, topic), [100, 101, 102], "committed offsets after a restart")
    again.subscribe([topic])
    seen = {}
    deadline = time.monotonic() + 60
    while len(seen) < flights.PARTITIONS:
        check(time.monotonic() < deadline, f"reading on from the commits: only {seen}")
        message = again.poll(0.2)
        if message is not None and message.error() is None:
            seen.setdefault(message.partition(), message.offset())
    check_equal(seen, {0: 100, 1: 101, 2: 102}, "first offsets after the commits")
    again.close()
    print("a group of two, one leaves, commits survive a restart", flush=True)


def first_of(broker, group, policy, partition):
    """The offset of the first record (or end) that a member of the group gets; the error's code when it gets that."""
    consumer = consumer_of(broker, group, auto_offset_reset=policy, enable_partition_eof=True)
    consumer.assign([partition])  # without an offset: from the commit
    deadline = time.monotonic() + 60
    try:
        while True:
            check(time.monotonic() < deadline, f"auto.offset.reset={policy}: nothing within 60 s")
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error() is None or message.error().code() == KafkaError._PARTITION_EOF:
                return message.offset()
            return message.error().code()
    finally:
        consumer.close()


def check_reset(broker):
    """The committed offset 10 is deleted with all below 500: earliest goes to 500, latest to the end, none is told."""
    topic, partition = TOPICS[-1], 1
    group = "resetters"
    member = consumer_of(broker, group)
    member.commit(offsets=[TopicPartition(topic, partition, 10)], asynchronous=False)
    end = member.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1]
    admin = AdminClient({"bootstrap.servers": broker.address()})
    for future in admin.delete_records([TopicPartition(topic, partition, 500)]).values():
        check_equal(future.result().low_watermark, 500, "low watermark after DeleteRecords")
    check_equal(member.get_watermark_offsets(TopicPartition(topic, partition), timeout=30), (500, end), "watermarks")
    member.close()
    place = TopicPartition(topic, partition)
    check_equal(first_of(broker, group, "earliest", place), 500, "earliest")
    check_equal(first_of(broker, group, "latest", place), end, "latest")
    check_equal(first_of(broker, group, "error", place), KafkaError._AUTO_OFFSET_RESET, "none")
    print("auto.offset.reset earliest, latest and none, with the committed offset gone", flush=True)


def start_broker(folder):
    if os.environ.get("CORDWOOD_FLIGHTS_KAFKA"):
        return harness.Kafka(folder).format().start()
    return harness.Cordwood(folder, overrides={"group.initial.rebalance.delay.ms": "0"}).start()


def main():
    if len(sys.argv) > 1:
        os.environ["CORDWOOD_BINARY"] = os.path.abspath(sys.argv[1])
    seed = int(os.environ.get("CORDWOOD_SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    with harness.workspace("flights") as folder, start_broker(folder) as broker:
        begin = time.monotonic()
        expected = run_reader([sys.executable, os.path.join(EXAMPLE, "produce.py"), broker.address()])
        rows = sum(count for count, _ in expected[TOPICS[0]].values())
        print(f"{rows} rows written with {len(TOPICS)} codecs in {time.monotonic() - begin:.1f} s", flush=True)
        check_readers(broker, expected, folder)
        check_lookups(broker, random.Random(seed))
        check_group(broker)
        check_reset(broker)
        check_equal(broker.stop() in (0, 143), True, "a clean stop")


if __name__ == "__main__":
    harness.run(main)
