#!/usr/bin/env python3
"""Reads topics from the beginning to their present end with aiokafka; prints count and SHA-256 of each partition (see
flights.py). Needs cramjam for snappy, lz4 and zstd.

    consume_aiokafka.py 127.0.0.1:9092 TOPIC ...
"""
import asyncio
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition

import flights


async def consume(bootstrap, topics):
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest", check_crcs=True,
                                enable_auto_commit=False, max_partition_fetch_bytes=4 << 20)
    await consumer.start()
    digests = flights.Digests()
    try:
        partitions = [TopicPartition(t, p) for t in topics for p in range(flights.PARTITIONS)]
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        unfinished = {p for p in partitions if ends[p] > 0}
        while unfinished:
            polled = await consumer.getmany(timeout_ms=30_000, max_records=5000)
            if not polled:
                raise SystemExit(f"nothing came for 30 s; left: {sorted(unfinished)}")
            for partition, records in polled.items():
                for record in records:
                    digests.add(record.topic, record.partition, record.key, record.value, record.timestamp)
                if await consumer.position(partition) >= ends[partition]:
                    unfinished.discard(partition)
    finally:
        await consumer.stop()
    digests.print()


def main():
    bootstrap, *topics = sys.argv[1:] or sys.exit(__doc__)
    asyncio.run(consume(bootstrap, topics))


if __name__ == "__main__":
    main()
