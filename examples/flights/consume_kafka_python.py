#!/usr/bin/env python3
"""Reads topics from the beginning to their present end with kafka-python; prints count and SHA-256 of each partition (see
flights.py). Needs lz4, zstandard and python-snappy for those codecs.

    consume_kafka_python.py 127.0.0.1:9092 TOPIC ...
"""
import sys

from kafka import KafkaConsumer, TopicPartition

import flights


def main():
    bootstrap, *topics = sys.argv[1:] or sys.exit(__doc__)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest", check_crcs=True,
                             enable_auto_commit=False, max_partition_fetch_bytes=4 << 20, max_poll_records=5000)
    partitions = [TopicPartition(t, p) for t in topics for p in range(flights.PARTITIONS)]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    digests = flights.Digests()
    unfinished = {p for p in partitions if ends[p] > 0}
    while unfinished:
        polled = consumer.poll(timeout_ms=30_000)
        if not polled:
            raise SystemExit(f"nothing came for 30 s; left: {sorted(unfinished)}")
        for partition, records in polled.items():
            for record in records:
                digests.add(record.topic, record.partition, record.key, record.value, record.timestamp)
            if consumer.position(partition) >= ends[partition]:
                unfinished.discard(partition)
    consumer.close()
    digests.print()


if __name__ == "__main__":
    main()
