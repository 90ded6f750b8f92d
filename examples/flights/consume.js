#!/usr/bin/env node
// Reads topics from the beginning to their present end with kafkajs; prints count and SHA-256 of each partition (see
// flights.py). kafkajs knows gzip; the other codecs are plugged in with pure JavaScript decoders.
//
//     NODE_PATH=.../node_modules consume.js 127.0.0.1:9092 TOPIC ...
'use strict'
const crypto = require('crypto')
const { Kafka, CompressionCodecs, CompressionTypes, logLevel } = require('kafkajs')
const snappy = require('snappyjs')
const lz4 = require('lz4js')
const zstd = require('fzstd')

// Java's framing of snappy: a 16 byte header, then blocks with their length in front. librdkafka writes plain snappy.
const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
function unframeSnappy (buffer) {
  if (!buffer.subarray(0, 8).equals(XERIAL)) return Buffer.from(snappy.uncompress(buffer))
  const blocks = []
  for (let at = 16; at < buffer.length;) {
    const size = buffer.readUInt32BE(at)
    blocks.push(Buffer.from(snappy.uncompress(buffer.subarray(at + 4, at + 4 + size))))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}
function decoder (decompress) {
  return () => ({
    compress: async () => { throw new Error('this example only reads') },
    decompress: async buffer => decompress(buffer)
  })
}
CompressionCodecs[CompressionTypes.Snappy] = decoder(unframeSnappy)
CompressionCodecs[CompressionTypes.LZ4] = decoder(buffer => Buffer.from(lz4.decompress(buffer)))
CompressionCodecs[CompressionTypes.ZSTD] = decoder(buffer => Buffer.from(zstd.decompress(buffer)))

class Digest {
  constructor () {
    this.count = 0
    this.sha = crypto.createHash('sha256')
  }

  add (key, value, timestamp) {
    const fixed = Buffer.alloc(16)
    fixed.writeInt32BE(key === null ? -1 : key.length, 0)
    fixed.writeInt32BE(value === null ? -1 : value.length, 4)
    fixed.writeBigInt64BE(BigInt(timestamp), 8)
    this.count++
    this.sha.update(Buffer.concat([fixed.subarray(0, 4), key || Buffer.alloc(0), fixed.subarray(4, 8),
      value || Buffer.alloc(0), fixed.subarray(8)]))
  }
}

async function main () {
  const [bootstrap, ...topics] = process.argv.slice(2)
  const kafka = new Kafka({ clientId: 'flights-kafkajs', brokers: [bootstrap], logLevel: logLevel.ERROR })
  const admin = kafka.admin()
  await admin.connect()
  const ends = new Map()
  for (const topic of topics) {
    for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
      if (BigInt(high) > 0n) ends.set(`${topic} ${partition}`, BigInt(high))
    }
  }
  await admin.disconnect()

  const digests = new Map()
  const consumer = kafka.consumer({ groupId: `flights-kafkajs-${process.pid}`, maxBytesPerPartition: 4 << 20 })
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  let last = Date.now()
  await new Promise((resolve, reject) => {
    const watch = setInterval(() => {
      if (Date.now() - last > 30000) reject(new Error(`nothing came for 30 s; left: ${[...ends.keys()]}`))
    }, 1000)
    consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        last = Date.now()
        const name = `${batch.topic} ${batch.partition}`
        const digest = digests.get(name) || new Digest()
        digests.set(name, digest)
        for (const { key, value, timestamp, offset } of batch.messages) {
          if (BigInt(offset) < BigInt(digest.count)) continue // read again after a rebalance
          digest.add(key, value, timestamp)
        }
        if (BigInt(digest.count) >= (ends.get(name) || 0n)) ends.delete(name)
        if (ends.size === 0) {
          clearInterval(watch)
          resolve()
        }
      }
    }).catch(reject)
  })
  await consumer.disconnect()
  const result = {}
  for (const name of [...digests.keys()].sort()) {
    const [topic, partition] = name.split(' ')
    const { count, sha } = digests.get(name)
    result[topic] = { ...result[topic], [partition]: [count, sha.digest('hex')] }
  }
  console.log(JSON.stringify(result))
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
