#!/usr/bin/env python3
"""Writes the flights of 2013 into one topic for each codec: flights-none, -gzip, -snappy, -lz4, -zstd.

    produce.py 127.0.0.1:9092 [CODEC ...]

Prints what a reader must find: count and SHA-256 of each partition (see flights.py). Needs confluent-kafka.
"""
import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import flights


def create_topics(bootstrap, codecs):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    # Records of 2013 are older than any retention by time would keep.
    topics = [NewTopic(flights.topic_of(codec), flights.PARTITIONS, 1, config={"retention.ms": "-1"}) for codec in codecs]
    for future in admin.create_topics(topics).values():
        future.result()


def produce(bootstrap, codec, records, digests):
    failures = []

    def delivered(error, _message):
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True,
                         "linger.ms": 20, "batch.size": 500_000, "queue.buffering.max.messages": 200_000,
                         "on_delivery": delivered})
    topic = flights.topic_of(codec)
    for partition, key, value, timestamp in records:
        while True:
            try:
                producer.produce(topic, value, key, partition, timestamp=timestamp)
                break
            except BufferError:
                producer.poll(0.05)
        digests.add(topic, partition, key, value, timestamp)
    left = producer.flush(120)
    if failures or left:
        raise SystemExit(f"{topic}: {len(failures)} records failed ({failures[:1]}), {left} were not delivered")


def main():
    bootstrap, *codecs = sys.argv[1:] or sys.exit(__doc__)
    codecs = codecs or flights.CODECS
    create_topics(bootstrap, codecs)
    records = list(flights.records())
    digests = flights.Digests()
    for codec in codecs:
        produce(bootstrap, codec, records, digests)
    digests.print()


if __name__ == "__main__":
    main()
