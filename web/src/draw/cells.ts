// The cells of a segment map as they come from the engine (lists of equal length), and how one finds a cell in them.

import type { Cells, SegmentMap } from '../lib/api';

export const flagBits = {
  transactional: 1,
  control: 2,
  compressed: 4,
  aborted: 8,
  empty: 16,
  oldFormat: 32,
  damaged: 64,
} as const;

/** What a cell is drawn as. The worst thing wins: damage, then aborted, then a marker. */
export type CellLook = 'damaged' | 'aborted' | 'control' | 'empty' | 'data';

export function lookOf(flags: number): CellLook {
  if (flags & flagBits.damaged) return 'damaged';
  if (flags & flagBits.aborted) return 'aborted';
  if (flags & flagBits.control) return 'control';
  if (flags & flagBits.empty) return 'empty';
  return 'data';
}

export function wordsOf(flags: number): string[] {
  const words: string[] = [];
  if (flags & flagBits.damaged) words.push('damaged');
  if (flags & flagBits.aborted) words.push('of an aborted transaction');
  if (flags & flagBits.control) words.push('transaction marker');
  if (flags & flagBits.transactional && !(flags & flagBits.control)) words.push('transactional');
  if (flags & flagBits.compressed) words.push('compressed');
  if (flags & flagBits.empty) words.push('without records');
  if (flags & flagBits.oldFormat) words.push('old format');
  return words;
}

export interface Cell {
  position: number;
  size_bytes: number;
  batches: number;
  records: number;
  base: string;
  last: string;
  timestamp_ms: number;
  flags: number;
}

export const cellCount = (cells: Cells): number => cells.position.length;

export function cellAt(cells: Cells, number: number): Cell | null {
  const position = cells.position[number];
  if (position === undefined) return null;
  return {
    position,
    size_bytes: cells.size_bytes[number] ?? 0,
    batches: cells.batches[number] ?? 1,
    records: cells.records[number] ?? 0,
    base: cells.base[number] ?? '0',
    last: cells.last[number] ?? '0',
    timestamp_ms: cells.timestamp_ms[number] ?? -1,
    flags: cells.flags[number] ?? 0,
  };
}

/** The first index whose value lies above `wanted`; the list ascends. */
export function upperBound(list: readonly number[], wanted: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The cell that holds the byte, or -1. */
export function cellHolding(cells: Cells, position: number): number {
  const found = upperBound(cells.position, position) - 1;
  if (found < 0) return -1;
  return position < (cells.position[found] as number) + (cells.size_bytes[found] as number) ? found : -1;
}

/** Whether every cell is one batch: zooming in on them shows no more cells. */
export function isExact(map: SegmentMap): boolean {
  return map.complete && map.index.position.length >= map.index_entries && map.cells.batches.every((n) => n === 1);
}
