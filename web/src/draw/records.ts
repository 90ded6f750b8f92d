// Where the records of a batch lie within its bytes.

import type { Batch, LogRecord } from '../lib/api';
import type { Span } from './span';

export interface PlacedRecord {
  record: LogRecord;
  span: Span;
}

export interface Body {
  header: Span;
  records: PlacedRecord[];
  /** The bytes behind the last record that is known; empty when all are. */
  rest: Span;
  /** Whether the places are those in the file. In a compressed batch they are shares of the inflated bytes. */
  exact: boolean;
}

export function headerBytes(batch: Batch): number {
  const last = batch.fields.at(-1);
  return last === undefined ? Math.min(61, batch.size_bytes) : Math.min(last.at + last.size_bytes, batch.size_bytes);
}

/** Places in the .log of what the batch holds. Its records must begin with the first. */
export function bodyOf(batch: Batch): Body {
  const end = batch.position + batch.size_bytes;
  const first = batch.position + headerBytes(batch);
  const header = { from: batch.position, to: first };
  const known = batch.records.reduce((sum, one) => sum + one.size_bytes, 0);
  const inflated = Math.max(batch.inflated_bytes ?? known, known);
  const space = end - first;
  if (inflated <= 0 || batch.records.length === 0)
    return { header, records: [], rest: { from: first, to: end }, exact: false };
  const scale = space / inflated;
  let at = first;
  const records = batch.records.map((record) => {
    const span = { from: at, to: Math.min(end, at + record.size_bytes * scale) };
    at = span.to;
    return { record, span };
  });
  return {
    header,
    records,
    rest: { from: at, to: records.length >= batch.records_total ? at : end },
    exact: inflated === space,
  };
}

/** One line of text for a record in a drawing: its key, or its value, or what it is. */
export function shortText(record: LogRecord, most: number): string {
  const cut = (text: string): string => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);
  if (record.kind === 'commit') return 'commit';
  if (record.kind === 'abort') return 'abort';
  if (record.kind === 'control') return 'control';
  const key = record.key === null ? null : (record.key.text ?? `0x${record.key.hex}`);
  const value = record.value === null ? null : (record.value.text ?? `0x${record.value.hex}`);
  if (record.kind === 'tombstone') return cut(`${key ?? ''} ∅`);
  return cut(key === null ? (value ?? '') : `${key} = ${value ?? ''}`);
}
