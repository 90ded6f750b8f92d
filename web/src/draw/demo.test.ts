import { describe, expect, it } from 'vitest';
import { answerDemos } from '../../fixtures/demos';
import type { Demo, DemoLog } from '../lib/api';
import { changesOf, layoutLog, placeOf, readingMs, scaleFor, sourceOf } from './demo';

const demo = (name: string): Demo => answerDemos(`/api/v1/demos/${name}`) as Demo;
const roll = demo('append_and_roll').steps;
const deleted = demo('deleted_offset').steps;
const at = <T>(list: readonly T[], i: number): T => {
  const one = list[i];
  if (one === undefined) throw new Error(`no ${i}`);
  return one;
};
const logOf = (i: number, steps = roll): DemoLog => at(at(steps, i).logs, 0);

describe('layout', () => {
  const source = sourceOf(logOf(5), null);
  const drawn = layoutLog(source, scaleFor([source], 1200));
  it('fills the width, to scale by bytes', () => {
    expect(drawn.width).toBeCloseTo(1200, 3);
    const first = at(at(drawn.segments, 0).batches, 0);
    const second = at(at(drawn.segments, 0).batches, 1);
    expect(second.width / first.width).toBeCloseTo(500 / 400, 6);
  });
  it('keeps records wide enough on a phone', () => {
    const narrow = layoutLog(source, scaleFor([source], 360));
    for (const segment of narrow.segments)
      for (const batch of segment.batches)
        for (const one of batch.records) expect(one.width).toBeGreaterThanOrEqual(29.9);
  });
  it('places offsets', () => {
    expect(placeOf(drawn, '0')).toBe(0);
    expect(placeOf(drawn, '6')).toBe(at(drawn.segments, 1).x);
    expect(placeOf(drawn, '1')).toBeCloseTo(at(at(drawn.segments, 0).batches, 1).x, 6);
    expect(placeOf(drawn, '19')).toBeCloseTo(drawn.width, 6);
    expect(placeOf(drawn, '9000')).toBeCloseTo(drawn.width, 6);
  });
  it('shows an empty log', () => {
    const empty = sourceOf(logOf(0), null);
    expect(layoutLog(empty, scaleFor([empty], 1200)).width).toBeGreaterThan(20);
  });
});

describe('changes', () => {
  it('are none at the first step', () => expect(changesOf(null, at(roll, 0)).lines).toEqual([]));
  it('are what was appended and rolled', () => {
    const change = changesOf(at(roll, 3), at(roll, 4));
    expect([...change.newBatches]).toEqual(['orders-0/6/6']);
    expect([...change.newSegments]).toEqual(['orders-0/6']);
    expect(change.lines).toEqual([
      '1 record more',
      'segment 0 is closed',
      'segment 6 is new',
      'high watermark 6 → 7',
      'last stable offset 6 → 7',
      'log end 6 → 7',
    ]);
  });
  it('are what went', () => {
    const change = changesOf(at(deleted, 0), at(deleted, 1));
    expect(change.lines).toContain('segment 0 is gone');
    expect(change.lines).toContain('log start 0 → 6');
    expect(change.newBatches.size).toBe(0);
    const source = sourceOf(logOf(1, deleted), logOf(0, deleted));
    expect(at(source.segments, 0)).toMatchObject({ gone: true, segment: { base: '0' } });
  });
});

it('gives time to read', () => {
  expect(readingMs(at(roll, 0), 1)).toBeGreaterThan(3000);
  expect(readingMs(at(roll, 0), 4)).toBeCloseTo(readingMs(at(roll, 0), 1) / 4, 6);
});
