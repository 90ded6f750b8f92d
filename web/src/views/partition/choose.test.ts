import { describe, expect, it } from 'vitest';
import { answerPartition } from '../../../fixtures/partition';
import type { Partition } from '../../lib/api';
import { numberOf, offsetOf, segmentOf } from './choose';

const shown = answerPartition('/api/v1/topics/t/partitions/0', new URLSearchParams()) as Partition;

describe('what a look is about', () => {
  it('is the segment of the address', () => expect(segmentOf(shown, { segment: '1200' })?.base).toBe('1200'));
  it('is the newest one where the address is stale', () => {
    expect(segmentOf(shown, { segment: '77' })?.base).toBe(shown.segments.at(-1)?.base);
    expect(segmentOf(shown, {})?.base).toBe(shown.segments.at(-1)?.base);
    expect(segmentOf({ ...shown, segments: [] }, {})).toBeNull();
  });
  it('takes numbers only', () => {
    expect(numberOf({ position: '12' }, 'position')).toBe(12);
    for (const bad of ['', '-1', '1e9', '0x10', '1.5', '9'.repeat(20)])
      expect(numberOf({ position: bad }, 'position')).toBeNull();
    expect(offsetOf({ offset: '9223372036854775807' })).toBe('9223372036854775807');
    expect(offsetOf({ offset: '<b>' })).toBeNull();
  });
});
