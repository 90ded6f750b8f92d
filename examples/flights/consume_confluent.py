#!/usr/bin/env python3
"""Reads topics from the beginning to their present end with confluent-kafka (librdkafka); prints count and SHA-256 of each
partition (see flights.py).

    consume_confluent.py 127.0.0.1:9092 TOPIC ...
"""
import sys
import time

from confluent_kafka import Consumer, KafkaError, TopicPartition

import flights


def main():
    bootstrap, *topics = sys.argv[1:] or sys.exit(__doc__)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "flights-confluent", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True})
    partitions = [TopicPartition(t, p, 0) for t in topics for p in range(flights.PARTITIONS)]
    consumer.assign(partitions)
    digests = flights.Digests()
    unfinished = {(p.topic, p.partition) for p in partitions}
    last = time.monotonic()
    while unfinished:
        messages = consumer.consume(5000, timeout=0.2)  # waits that long for all 5000
        if messages:
            last = time.monotonic()
        elif time.monotonic() - last > 30:
            raise SystemExit(f"nothing came for 30 s; left: {sorted(unfinished)}")
        for message in messages:
            error = message.error()
            if error is None:
                digests.add(message.topic(), message.partition(), message.key(), message.value(), message.timestamp()[1])
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard((message.topic(), message.partition()))
            else:
                raise SystemExit(str(error))
    consumer.close()
    digests.print()


if __name__ == "__main__":
    main()
