import { describe, expect, it } from 'vitest';
import type { LookupStep } from '../lib/api';
import { probesOf } from './probes';

const probe = (entry: number | null, kind: LookupStep['kind'] = 'offset_probe'): LookupStep => ({
  kind,
  segment: '0',
  file: null,
  entry,
  offset: null,
  timestamp_ms: null,
  from_position: null,
  to_position: null,
  batches: null,
  bytes: 8,
  says: '',
});

describe('probes', () => {
  it('narrow the range', () => {
    const found = probesOf([probe(50), probe(25), probe(37), probe(31)], 'offset_probe', 101);
    expect(found.map((one) => [one.number, one.from, one.to])).toEqual([
      [1, 0, 100],
      [2, 0, 49],
      [3, 26, 49],
      [4, 26, 36],
    ]);
  });
  it('keep apart from those of the other index', () => {
    expect(probesOf([probe(3, 'time_probe'), probe(1), probe(null)], 'offset_probe', 10)).toHaveLength(1);
  });
  it('hold each probe within its range, whatever the file says', () => {
    for (const one of probesOf([probe(5), probe(900), probe(2), probe(2), probe(0)], 'offset_probe', 10)) {
      expect(one.entry).toBeGreaterThanOrEqual(one.from);
      expect(one.entry).toBeLessThanOrEqual(one.to);
    }
  });
});
