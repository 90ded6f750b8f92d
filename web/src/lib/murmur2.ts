// Which partition a key goes to, as Kafka's producers choose it: murmur2 with its own seed, without the sign bit, modulo the
// number of partitions. The numbers in the test are those that Kafka's producers give.

export function murmur2(data: Uint8Array): number {
  const m = 0x5bd1e995;
  let hash = 0x9747b28c ^ data.length;
  const byte = (at: number): number => data[at] ?? 0;
  const whole = data.length - (data.length % 4);
  for (let at = 0; at < whole; at += 4) {
    let word = byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
    word = Math.imul(word, m);
    word ^= word >>> 24;
    word = Math.imul(word, m);
    hash = Math.imul(hash, m) ^ word;
  }
  const rest = data.length - whole;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at -= 1) hash ^= byte(whole + at) << (8 * at);
    hash = Math.imul(hash, m);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return (hash ^ (hash >>> 15)) | 0;
}

export const partitionOfKey = (key: string, partitions: number): number =>
  (murmur2(new TextEncoder().encode(key)) & 0x7fffffff) % partitions;
