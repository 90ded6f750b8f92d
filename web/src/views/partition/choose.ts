// Which segment, batch and offset a look is about: what the address says, as far as it fits, or the newest.
import type { Partition, Segment } from '../../lib/api';
import { parseOffset } from '../../lib/format';
import type { Query } from '../../lib/router';

/** The segment with that base, or the newest one with bytes in it. Null: there is none. */
export function segmentOf(shown: Partition, query: Query): Segment | null {
  const wanted = query['segment'];
  const named = wanted === undefined ? undefined : shown.segments.find((one) => one.base === wanted);
  return named ?? shown.segments.findLast((one) => one.size_bytes > 0) ?? shown.segments.at(-1) ?? null;
}

/** A whole number of the address, 0 or more. */
export function numberOf(query: Query, name: string): number | null {
  const text = query[name];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export const offsetOf = (query: Query, name = 'offset'): string | null => {
  const text = query[name];
  return text === undefined ? null : parseOffset(text);
};
