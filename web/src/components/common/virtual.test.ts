import { describe, expect, it } from 'vitest';
import { moved, visible } from './virtual';

describe('visible', () => {
  it('is bounded by the window, however long the table', () => {
    for (const total of [0, 1, 5, 100, 10_000]) {
      for (let above = -5000; above < 300_000; above += 997) {
        const { from, to } = visible(total, 26, above, 800);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(total);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(800 / 26) + 18);
        if (total > 0) expect(to).toBeGreaterThan(from);
        // Every row that is in sight is drawn.
        const first = Math.max(0, Math.floor(above / 26));
        const last = Math.min(total - 1, Math.floor((above + 799) / 26));
        if (first <= last && last >= 0) {
          expect(from).toBeLessThanOrEqual(first);
          expect(to).toBeGreaterThan(last);
        }
      }
    }
  });
});

describe('moved', () => {
  const size = { rows: 100, columns: 5 };
  it.each([
    ['ArrowDown', false, { row: 51, column: 2 }],
    ['ArrowUp', false, { row: 49, column: 2 }],
    ['ArrowLeft', false, { row: 50, column: 1 }],
    ['ArrowRight', false, { row: 50, column: 3 }],
    ['PageDown', false, { row: 70, column: 2 }],
    ['PageUp', false, { row: 30, column: 2 }],
    ['Home', false, { row: 50, column: 0 }],
    ['End', false, { row: 50, column: 4 }],
    ['Home', true, { row: 0, column: 0 }],
    ['End', true, { row: 99, column: 4 }],
  ])('%s', (key, toEnd, to) => {
    expect(moved(key, { row: 50, column: 2 }, size, 20, toEnd)).toEqual(to);
  });
  it('stays within the table', () => {
    expect(moved('ArrowUp', { row: 0, column: 0 }, size, 20, false)).toEqual({ row: 0, column: 0 });
    expect(moved('PageDown', { row: 95, column: 0 }, size, 20, false)).toEqual({ row: 99, column: 0 });
    expect(moved('x', { row: 0, column: 0 }, size, 20, false)).toBeNull();
  });
});
