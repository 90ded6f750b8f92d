import { describe, expect, it } from 'vitest';
import { layoutBars, layoutLabels } from './strip';

const right = (bars: { x: number; width: number }[]): number => {
  const last = bars.at(-1);
  return last === undefined ? 0 : last.x + last.width;
};

describe('bars', () => {
  it('follow the sizes', () => {
    const bars = layoutBars([100, 300], 404, 4, 2);
    expect(bars).toEqual([
      { x: 0, width: 100 },
      { x: 104, width: 300 },
    ]);
  });
  it('show empty ones, and still fit', () => {
    const bars = layoutBars([0, 1_000_000, 0, 50], 500, 2, 4);
    expect(bars.every((bar) => bar.width >= 4)).toBe(true);
    expect(right(bars)).toBeCloseTo(500, 6);
  });
  it('fit however many they are', () => {
    const bars = layoutBars(
      Array.from({ length: 2000 }, (_, i) => i % 3),
      800,
      2,
      3,
    );
    expect(right(bars)).toBeLessThanOrEqual(800 + 1e-6);
    for (let i = 1; i < bars.length; i += 1)
      expect(bars[i]?.x).toBeGreaterThanOrEqual((bars[i - 1]?.x ?? 0) + (bars[i - 1]?.width ?? 0) - 1e-9);
  });
  it('share the line when all are empty', () =>
    expect(layoutBars([0, 0], 100, 0, 2).map((bar) => bar.width)).toEqual([50, 50]));
  it('are none for none', () => expect(layoutBars([], 100, 2, 2)).toEqual([]));
});

describe('labels', () => {
  it('never cover each other, and stay inside', () => {
    const labels = Array.from({ length: 30 }, (_, i) => ({ x: (i * 137) % 600, width: 40 + (i % 5) * 20 }));
    const placed = layoutLabels(labels, 600, 4);
    placed.forEach((a, i) => {
      expect(a.left).toBeGreaterThanOrEqual(0);
      expect(a.left + (labels[i]?.width ?? 0)).toBeLessThanOrEqual(600);
      placed.forEach((b, j) => {
        if (i >= j || a.row !== b.row) return;
        expect(a.left + (labels[i]?.width ?? 0) <= b.left || b.left + (labels[j]?.width ?? 0) <= a.left).toBe(true);
      });
    });
  });
  it('keep to one row where there is room', () => {
    expect(layoutLabels([{ x: 10, width: 20 }, { x: 300, width: 20 }], 400, 4).map((one) => one.row)).toEqual([0, 0]); // prettier-ignore
  });
});
