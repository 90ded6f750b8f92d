// A look-up's binary search as a picture: what range of entries was still open before each probe.

import type { LookupStep } from '../lib/api';

export interface Probe {
  /** 1 for the first. */
  number: number;
  entry: number;
  /** The open range before it, both inclusive. */
  from: number;
  to: number;
  step: LookupStep;
}

/**
 * Of the probes of one index file with `total` entries. The next probe tells which way the search went: it lies left or right of this
 * one. Probes that fit no search (a damaged file) keep the range as it was.
 */
export function probesOf(steps: readonly LookupStep[], kind: 'offset_probe' | 'time_probe', total: number): Probe[] {
  const found: Probe[] = [];
  let from = 0;
  let to = Math.max(0, total - 1);
  const list = steps.filter((step) => step.kind === kind && step.entry !== null);
  list.forEach((step, i) => {
    const entry = step.entry ?? 0;
    found.push({ number: i + 1, entry, from: Math.min(from, entry), to: Math.max(to, entry), step });
    const next = list[i + 1]?.entry ?? null;
    if (next === null) return;
    if (next > entry) from = Math.min(entry + 1, to);
    else if (next < entry) to = Math.max(entry - 1, from);
  });
  return found;
}
