import { describe, expect, it } from 'vitest';
import { atShare, axisOf, compareOffsets, distance, isOffset, offsetTicks, share, shareOf, toBig } from './offsets';

describe('offset axis', () => {
  it('spans what it is given, and is never empty', () => {
    expect(axisOf(['7', null, '3', undefined, '19'])).toEqual({ from: 3n, to: 19n });
    expect(axisOf(['5'])).toEqual({ from: 5n, to: 6n });
    expect(axisOf([])).toEqual({ from: 0n, to: 1n });
  });
  it('places offsets beyond 2^53', () => {
    const axis = { from: 9_007_199_254_740_993n, to: 9_007_199_254_740_997n };
    expect(shareOf(axis, '9007199254740994')).toBe(0.25);
    expect(shareOf(axis, '9007199254740995')).toBe(0.5);
  });
  it('places offsets on an axis of all i64', () => {
    const axis = { from: 0n, to: (1n << 63n) - 1n };
    expect(share(axis, 1n << 62n)).toBeCloseTo(0.5, 5);
    expect(atShare(axis, 1)).toBe((1n << 63n) - 1n);
  });
});

describe('ticks', () => {
  it('are round and few', () => {
    expect(offsetTicks({ from: 0n, to: 16n }, 10)).toEqual([0n, 2n, 4n, 6n, 8n, 10n, 12n, 14n, 16n]);
    expect(offsetTicks({ from: 3n, to: 1003n }, 6)).toEqual([200n, 400n, 600n, 800n, 1000n]);
    for (const to of [1n, 7n, 999n, 123456789n, 1n << 62n])
      expect(offsetTicks({ from: 0n, to }, 8).length).toBeLessThanOrEqual(9);
  });
});

describe('text', () => {
  it('is an offset or is not', () => {
    for (const good of ['0', '-1', ' 12 ', '9223372036854775807']) expect(isOffset(good)).toBe(true);
    for (const bad of ['', 'x', '1.5', '9223372036854775808', '1e3']) expect(isOffset(bad)).toBe(false);
  });
  it('is compared and subtracted as numbers', () => {
    expect(compareOffsets('9', '10')).toBe(-1);
    expect(compareOffsets('10', '10')).toBe(0);
    expect(distance('9007199254740993', '9007199254740995')).toBe('2');
    expect(toBig('nonsense', 4n)).toBe(4n);
  });
});
