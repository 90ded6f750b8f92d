import { expect, it } from 'vitest';
import { murmur2, partitionOfKey } from './murmur2';

it.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('murmur2 of %s', (key, hash) => {
  expect(murmur2(new TextEncoder().encode(key))).toBe(hash);
});

it('takes the hash without its sign', () => {
  expect(partitionOfKey('foobar', 1)).toBe(0);
  expect(partitionOfKey('foobar', 1000)).toBe((-790332482 & 0x7fffffff) % 1000);
  expect(partitionOfKey('abc', 6)).toBe(479470107 % 6);
});
