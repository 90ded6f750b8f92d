// Demos as drawings: where the records of small logs lie, and what a step has changed.

import type { DemoBatch, DemoGroup, DemoLog, DemoRecord, DemoSegment, DemoStep } from '../lib/api';
import { compareOffsets, toBig } from './offsets';

export interface DrawnRecord {
  record: DemoRecord;
  x: number;
  width: number;
}
export interface DrawnBatch {
  batch: DemoBatch;
  x: number;
  width: number;
  records: DrawnRecord[];
}
export interface DrawnSegment {
  segment: DemoSegment;
  /** It was there one step before. */
  gone: boolean;
  x: number;
  width: number;
  batches: DrawnBatch[];
  /** Behind the last batch, bytes that are no batch. */
  torn: { x: number; width: number; bytes: number } | null;
}
export interface DrawnLog {
  segments: DrawnSegment[];
  width: number;
}

export const between = 10; // pixels between two segments
const kLeastRecord = 30;
const kLeastSegment = 46;
const kMayScroll = 700; // pixels
const kMostPixels = 1000; // for the longest log, where a narrow record would make it longer

const tornOf = (segment: DemoSegment): number => segment.torn_bytes;

/** Pixels for a byte, so that the longest log fills the width; more when records would be too narrow to name, as far as some scrolling allows. */
export function scaleFor(logs: readonly DrawnSource[], pixels: number): number {
  let scale = 0;
  let least = 0;
  let most = Infinity;
  // Where there is room enough, all of a log is in sight; on a phone its records are too narrow then, and it is moved sideways.
  const scrolls = pixels < kMayScroll;
  for (const log of logs) {
    const list = log.segments;
    const total = list.reduce((sum, one) => sum + one.segment.size_bytes, 0);
    if (total > 0) {
      // Segments that would be narrower than the least take that much, and the others share the rest.
      let fits = pixels / total;
      for (let round = 0; round < 4; round += 1) {
        const small = list.filter((one) => one.segment.size_bytes * fits < kLeastSegment);
        const rest = total - small.reduce((sum, one) => sum + one.segment.size_bytes, 0);
        if (rest <= 0) break;
        const gaps = between * Math.max(0, list.length - 1) + small.length * kLeastSegment;
        fits = Math.max(0, pixels - gaps) / rest;
      }
      scale = scale === 0 ? fits : Math.min(scale, fits);
      most = Math.min(most, kMostPixels / total);
    }
    for (const { segment } of list)
      for (const batch of segment.batches) {
        const each = batch.size_bytes / Math.max(1, batch.records.length);
        if (each > 0) least = Math.max(least, kLeastRecord / each);
      }
  }
  // A small log need not fill the page.
  return Math.min(scrolls ? Math.max(scale, Math.min(least, most)) : scale, 0.6);
}

export interface DrawnSource {
  segments: { segment: DemoSegment; gone: boolean }[];
}

/** The segments of a log with those that the step before still had, in order of their offsets. */
export function sourceOf(now: DemoLog, before: DemoLog | null): DrawnSource {
  const list = now.segments.map((segment) => ({ segment, gone: false }));
  for (const old of before?.segments ?? []) {
    if (old.state !== 'deleted' && !now.segments.some((one) => one.base === old.base))
      list.push({ segment: old, gone: true });
  }
  list.sort((a, b) => compareOffsets(a.segment.base, b.segment.base));
  return { segments: list };
}

export function layoutLog(source: DrawnSource, scale: number): DrawnLog {
  let x = 0;
  const segments = source.segments.map(({ segment, gone }): DrawnSegment => {
    const first = x;
    const batches = segment.batches.map((batch): DrawnBatch => {
      const at = first + batch.position * scale;
      const width = batch.size_bytes * scale;
      const each = width / Math.max(1, batch.records.length);
      return {
        batch,
        x: at,
        width,
        records: batch.records.map((record, i) => ({ record, x: at + i * each, width: each })),
      };
    });
    const torn = tornOf(segment);
    const width = Math.max(segment.size_bytes * scale, kLeastSegment);
    x += width + between;
    return {
      segment,
      gone,
      x: first,
      width,
      batches,
      torn: torn > 0 ? { x: first + (segment.size_bytes - torn) * scale, width: torn * scale, bytes: torn } : null,
    };
  });
  return { segments, width: Math.max(0, x - between) };
}

/** Where an offset lies: at the left edge of its record, or of the next one that is there. */
export function placeOf(log: DrawnLog, offset: string): number {
  const wanted = toBig(offset);
  let end = 0;
  for (const segment of log.segments) {
    if (wanted <= toBig(segment.segment.base)) return segment.x;
    for (const batch of segment.batches)
      for (const one of batch.records) if (toBig(one.record.offset) >= wanted) return one.x;
    const last = segment.batches.at(-1);
    end = last === undefined ? segment.x : last.x + last.width;
    if (wanted <= toBig(segment.segment.next) && segment === log.segments.at(-1)) return end;
    if (wanted < toBig(segment.segment.next)) return end;
  }
  return end;
}

export interface Change {
  /** `topic-partition/base` of a batch. */
  newBatches: Set<string>;
  changedBatches: Set<string>;
  newSegments: Set<string>;
  /** One line for each change, for those who do not see them. */
  lines: string[];
}

export const batchKey = (log: DemoLog, segment: DemoSegment, batch: DemoBatch): string =>
  `${log.topic}-${log.partition}/${segment.base}/${batch.base}`;
export const segmentKey = (log: DemoLog, segment: DemoSegment): string =>
  `${log.topic}-${log.partition}/${segment.base}`;
export const sameLog = (list: readonly DemoLog[], log: DemoLog): DemoLog | null =>
  list.find((one) => one.topic === log.topic && one.partition === log.partition) ?? null;

const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

export function changesOf(before: DemoStep | null, now: DemoStep): Change {
  const change: Change = { newBatches: new Set(), changedBatches: new Set(), newSegments: new Set(), lines: [] };
  if (before === null) return change;
  const several = now.logs.length > 1;
  for (const log of now.logs) {
    const name = several ? `${log.topic}-${log.partition}: ` : '';
    const old = sameLog(before.logs, log);
    if (old === null) {
      change.lines.push(`partition ${log.topic}-${log.partition} is new`);
      continue;
    }
    const oldRecords = recordsOf(old);
    const newRecords = recordsOf(log);
    let added = 0;
    let gone = 0;
    for (const offset of newRecords.keys()) if (!oldRecords.has(offset)) added += 1;
    for (const offset of oldRecords.keys()) if (!newRecords.has(offset)) gone += 1;
    if (added > 0) change.lines.push(`${name}${plural(added, 'record')} more`);
    for (const segment of log.segments) {
      const oldSegment = old.segments.find((one) => one.base === segment.base);
      if (oldSegment === undefined) {
        change.newSegments.add(segmentKey(log, segment));
        change.lines.push(`${name}segment ${segment.base} is new`);
      } else if (oldSegment.state !== segment.state)
        change.lines.push(`${name}segment ${segment.base} is ${words[segment.state]}`);
      for (const batch of segment.batches) {
        const oldBatch = oldSegment?.batches.find((one) => one.base === batch.base) ?? null;
        // A batch that moved to another segment was not written anew by a producer.
        const elsewhere = batch.records.length > 0 && batch.records.every((one) => oldRecords.has(one.offset));
        if (oldBatch === null)
          (elsewhere ? change.changedBatches : change.newBatches).add(batchKey(log, segment, batch));
        else if (oldBatch.size_bytes !== batch.size_bytes || oldBatch.records.length !== batch.records.length)
          change.changedBatches.add(batchKey(log, segment, batch));
      }
      const entries = segment.offset_index.length - (oldSegment?.offset_index.length ?? 0);
      if (entries > 0)
        change.lines.push(
          `${name}${plural(entries, 'entry', 'entries')} more in the offset index of segment ${segment.base}`,
        );
    }
    for (const segment of old.segments)
      if (!log.segments.some((one) => one.base === segment.base))
        change.lines.push(`${name}segment ${segment.base} is gone`);
    if (gone > 0) change.lines.push(`${name}${plural(gone, 'record')} gone`);
    for (const [what, a, b] of [
      ['log start', old.log_start, log.log_start],
      ['high watermark', old.high_watermark, log.high_watermark],
      ['last stable offset', old.last_stable, log.last_stable],
      ['log end', old.log_end, log.log_end],
      ['recovery point', old.recovery_point, log.recovery_point],
    ] as const)
      if (a !== b && a !== null && b !== null) change.lines.push(`${name}${what} ${a} → ${b}`);
  }
  for (const log of before.logs)
    if (sameLog(now.logs, log) === null) change.lines.push(`partition ${log.topic}-${log.partition} is gone`);
  for (const group of now.groups) {
    const old = before.groups.find((one) => sameGroup(one, group));
    if (old === undefined) change.lines.push(`group ${group.name} is new`);
    else if (old.committed !== group.committed)
      change.lines.push(`group ${group.name} committed ${old.committed} → ${group.committed}`);
  }
  return change;
}

const words: Record<DemoSegment['state'], string> = {
  active: 'active',
  closed: 'closed',
  going: 'going soon',
  deleted: 'deleted',
};
const sameGroup = (a: DemoGroup, b: DemoGroup): boolean =>
  a.name === b.name && a.topic === b.topic && a.partition === b.partition;

function recordsOf(log: DemoLog): Map<string, DemoRecord> {
  const found = new Map<string, DemoRecord>();
  for (const segment of log.segments) {
    if (segment.state === 'deleted') continue;
    for (const batch of segment.batches) for (const one of batch.records) found.set(one.offset, one);
  }
  return found;
}

/** How long a step is shown while a demo plays: time to look, and to read. */
export const readingMs = (step: DemoStep, speed: number): number =>
  Math.min(20_000, 2200 + (step.does.length + step.says.length) * 38) / Math.max(0.1, speed);
