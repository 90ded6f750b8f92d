"""A broker that serves while one log still recovers: real clients of that partition wait, others work meanwhile.

The recovery is held up by a named pipe in the place of partition.metadata: whoever reads it waits until the test closes it.
"""
import os
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

import wire
from harness import Cordwood, check, check_equal, java, run, workspace

RECORDS = 2_000
SETTINGS = {"offsets.topic.num.partitions": "1"}


def fill(broker):
    with wire.Connection(broker.port) as connection:
        wire.create_topic(connection, "slow")
        wire.create_topic(connection, "fast")
    producer = Producer({"bootstrap.servers": broker.address(), "linger.ms": 5})
    for i in range(RECORDS):
        producer.produce("slow", key=str(i), value=b"x" * 1_000)
    producer.produce("fast", value=b"before")
    check_equal(producer.flush(60), 0, "records left in the producer")


def hold_up(folder):
    """The recovery of slow-0 waits from now on; the function lets it go."""
    path = os.path.join(folder, "data/slow-0/partition.metadata")
    os.remove(path)
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    return lambda: os.close(writer)


def consume(address, topic, count, group, seconds=60):
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    got = []
    deadline = time.monotonic() + seconds
    while len(got) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        got.append(message)
    consumer.close()
    return got


def others_work_meanwhile(folder):
    broker = Cordwood(folder, overrides=SETTINGS)
    broker.start()
    fill(broker)
    broker.kill()
    let_go = hold_up(folder)
    began = time.monotonic()
    broker.start()
    took = time.monotonic() - began
    check(1.9 < took < 20, f"ready after {took:.1f} s, the grace is 2 s")
    check("; 1 partition still recovers" in broker.output(), "the ready line does not say that a partition recovers")

    late = {}

    def keys():
        late["keys"] = [int(m.key()) for m in consume(broker.address(), "slow", RECORDS + 1, "waiting", 90)]
    waiting = threading.Thread(target=keys)
    waiting.start()
    slow_producer = Producer({"bootstrap.servers": broker.address()})
    slow_producer.produce("slow", key=str(RECORDS), value=b"meanwhile")

    producer = Producer({"bootstrap.servers": broker.address()})
    producer.produce("fast", value=b"meanwhile")
    check_equal(producer.flush(10), 0, "records of the other topic left in the producer")
    values = [m.value() for m in consume(broker.address(), "fast", 2, "others", 20)]
    check_equal(values, [b"before", b"meanwhile"], "what the other topic holds")
    metadata = AdminClient({"bootstrap.servers": broker.address()}).list_topics(timeout=10)
    check_equal(metadata.topics["slow"].partitions[0].leader, -1, "leader of the partition that recovers")
    check_equal(slow_producer.flush(1), 1, "records waiting in the producer of the topic that recovers")
    with wire.Connection(broker.port) as connection:
        check_equal(wire.fetch(connection, "slow", 0, 0)[0], 6, "code of a fetch meanwhile")

    let_go()
    check_equal(slow_producer.flush(30), 0, "records left in the producer that waited")
    waiting.join()
    check_equal(late["keys"], list(range(RECORDS + 1)), "keys of the topic that recovered")
    printed = java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.address(), "--topic",
                   "slow", "--from-beginning", "--max-messages", str(RECORDS + 1), "--timeout-ms", "30000")
    check_equal(len(printed.stdout.splitlines()), RECORDS + 1, "lines of Java's consumer")
    check_equal(broker.stop(), 0, "exit code")
    broker.start()
    check_equal(len(consume(broker.address(), "slow", RECORDS + 1, "again", 30)), RECORDS + 1, "records after a restart")
    check_equal(broker.stop(), 0, "exit code")


def a_stop_ends_the_loading(folder):
    broker = Cordwood(folder, overrides=SETTINGS)
    broker.start()
    fill(broker)
    broker.kill()
    let_go = hold_up(folder)
    starting = threading.Thread(target=lambda: _expect_no_start(broker))
    starting.start()
    time.sleep(0.7)  # the grace is not over
    broker.process.terminate()
    time.sleep(0.2)
    let_go()
    starting.join()
    check_equal(broker.process.returncode, 143, "exit code of a start that was stopped")
    check("stopped while the logs were loading" in broker.output(), "no line says what was reached")
    check(not os.path.exists(os.path.join(folder, "data/.kafka_cleanshutdown")), "marked as stopped cleanly")
    path = os.path.join(folder, "data/slow-0/partition.metadata")
    if os.path.exists(path):
        os.remove(path)
    broker.start()
    check_equal(len(consume(broker.address(), "slow", RECORDS, "g", 30)), RECORDS, "records after the interrupted start")
    check_equal(broker.stop(), 0, "exit code")


def _expect_no_start(broker):
    try:
        broker.start()
    except Exception:  # noqa: BLE001  ends before it is ready, which is what is wanted
        pass


def main():
    for test in (others_work_meanwhile, a_stop_ends_the_loading):
        with workspace("loading") as folder:
            test(folder)
            print(f"{test.__name__}: passed")


if __name__ == "__main__":
    run(main)
