"""kill -9 while an idempotent producer writes, twenty times: every acknowledged record is there, once, in order.

Needs confluent-kafka. The producer lives through all kills and retries as librdkafka does; what it was told is stored must
be found at the offset it was told, and nothing may be there twice or out of order.
"""
import os
import random
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import harness
from harness import check, check_equal

ROUNDS = int(os.environ.get("CORDWOOD_KILL_ROUNDS", "20"))
PARTITIONS = 3


def main():
    seed = int(os.environ.get("CORDWOOD_SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    with harness.workspace("kill") as folder, harness.Cordwood(folder, port=harness.free_port()) as broker:
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.address()})
        # Small segments, so that kills also hit rolls.
        for future in admin.create_topics([NewTopic("kills", PARTITIONS, 1, config={"segment.bytes": "1048576"})]).values():
            future.result()
        producer = Producer({
            "bootstrap.servers": broker.address(), "enable.idempotence": True, "linger.ms": 2, "batch.size": 20000,
            "message.timeout.ms": 120000, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20,
            "queue.buffering.max.messages": 2000})
        acknowledged = {}  # number -> (partition, offset)
        failed = set()
        stop = threading.Event()
        sent = [0]

        def write():
            filler = b"x" * 300
            while not stop.is_set():
                number = sent[0]

                def delivered(error, message, n=number):
                    if error is None:
                        acknowledged[n] = (message.partition(), message.offset())
                    else:
                        failed.add(n)
                try:
                    producer.produce("kills", value=b"%d:" % number + filler, partition=number % PARTITIONS,
                                     on_delivery=delivered)
                    sent[0] += 1
                except BufferError:
                    producer.poll(0.01)
                producer.poll(0)

        writer = threading.Thread(target=write)
        writer.start()
        slowest = 0.0
        for _ in range(ROUNDS):
            before = len(acknowledged)
            deadline = time.monotonic() + 30
            while len(acknowledged) < before + 200 and time.monotonic() < deadline:
                time.sleep(0.01)
            check(len(acknowledged) > before, "no record was acknowledged within 30 s after a restart")
            time.sleep(chance.random() * 0.3)
            broker.kill()
            begin = time.monotonic()
            broker.wanted_port = broker.port
            broker.start()
            slowest = max(slowest, time.monotonic() - begin)
        stop.set()
        writer.join()
        check_equal(producer.flush(60), 0, "records left in the producer")
        check(not failed, f"{len(failed)} records failed although the broker came back")

        consumer = Consumer({"bootstrap.servers": broker.address(), "group.id": "checker", "enable.auto.commit": False,
                             "auto.offset.reset": "earliest", "enable.partition.eof": True, "check.crcs": True})
        consumer.assign([TopicPartition("kills", p, 0) for p in range(PARTITIONS)])
        found = {}
        last = [-1] * PARTITIONS
        ended = set()
        while len(ended) < PARTITIONS:
            message = consumer.poll(30)
            check(message is not None, "reading back stalled")
            if message.error():
                check_equal(message.error().code(), KafkaError._PARTITION_EOF, "reading back")
                ended.add(message.partition())
                continue
            number = int(message.value().split(b":")[0])
            check(number not in found, f"record {number} is there twice: {found.get(number)} and offset {message.offset()}")
            check(number > last[message.partition()], f"record {number} comes after {last[message.partition()]}")
            last[message.partition()] = number
            found[number] = (message.partition(), message.offset())
        consumer.close()
        wrong = [(n, where, found.get(n)) for n, where in acknowledged.items() if found.get(n) != where]
        check(not wrong, f"{len(wrong)} acknowledged records are not where they were said to be, for example {wrong[:3]}")
        check_equal(broker.stop(), 0, "exit code of a clean stop")
        print(f"{ROUNDS} kills, {len(acknowledged)} acknowledged of {sent[0]}, {len(found)} found, slowest restart {slowest:.2f} s")


if __name__ == "__main__":
    harness.run(main)
    sys.exit(0)
