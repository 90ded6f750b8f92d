import { describe, expect, it } from 'vitest';
import { between, byteStep, clamp, meet, pan, rulerText, ticks, toPixel, toPosition, width, zoom } from './span';

const whole = { from: 0, to: 1_000_000 };

describe('zoom', () => {
  it('keeps the byte under the pointer where it is', () => {
    const before = { from: 100_000, to: 500_000 };
    const after = zoom(before, 200_000, 0.5, whole, 16);
    expect(width(after)).toBe(200_000);
    expect(toPixel(after, 800, 200_000)).toBeCloseTo(toPixel(before, 800, 200_000), 9);
  });
  it('stops at the whole and at the minimum', () => {
    expect(zoom({ from: 10, to: 900_000 }, 10, 4, whole, 16)).toEqual(whole);
    expect(width(zoom({ from: 100, to: 120 }, 110, 0.001, whole, 16))).toBe(16);
  });
  it('never leaves the file', () => {
    let span = whole;
    for (let i = 0; i < 200; ++i) {
      span = zoom(span, span.from + width(span) * ((i * 37) % 100) * 0.01, i % 3 === 2 ? 1.7 : 0.6, whole, 16);
      expect(span.from).toBeGreaterThanOrEqual(0);
      expect(span.to).toBeLessThanOrEqual(1_000_000 + 1e-6);
      expect(width(span)).toBeGreaterThanOrEqual(16 - 1e-6);
    }
  });
  it('shows a file that is smaller than the minimum as it is', () => {
    expect(zoom({ from: 0, to: 5 }, 1, 0.5, { from: 0, to: 5 }, 16)).toEqual({ from: 0, to: 5 });
  });
});

describe('pan and clamp', () => {
  it('stops at both ends', () => {
    expect(pan({ from: 100, to: 300 }, -500, whole)).toEqual({ from: 0, to: 200 });
    expect(pan({ from: 100, to: 300 }, 5_000_000, whole)).toEqual({ from: 999_800, to: 1_000_000 });
  });
  it('widens about the middle', () => {
    expect(clamp({ from: 500, to: 500 }, whole, 100)).toEqual({ from: 450, to: 550 });
  });
});

describe('pixels', () => {
  it('go to a position and back', () => {
    const span = { from: 1000, to: 3000 };
    for (const position of [1000, 1500.5, 2999])
      expect(toPosition(span, 640, toPixel(span, 640, position))).toBeCloseTo(position, 9);
    expect(toPixel({ from: 5, to: 5 }, 640, 5)).toBe(0);
  });
});

describe('between', () => {
  it('begins and ends exactly, and is monotonous in between', () => {
    const a = whole;
    const b = { from: 600_000, to: 600_100 };
    expect(between(a, b, 0)).toEqual(a);
    expect(between(a, b, 1)).toEqual(b);
    let last = a;
    for (let part = 0.1; part < 1; part += 0.1) {
      const now = between(a, b, part);
      expect(width(now)).toBeLessThan(width(last));
      expect(now.from).toBeGreaterThan(last.from);
      last = now;
    }
  });
  it('slides when the widths are equal', () => {
    expect(between({ from: 0, to: 10 }, { from: 20, to: 30 }, 0.5)).toEqual({ from: 10, to: 20 });
  });
});

describe('ruler', () => {
  it('has round steps', () => {
    expect(byteStep(0.3)).toBe(1);
    expect(byteStep(100)).toBe(128);
    expect(byteStep(1000)).toBe(1024);
    expect(byteStep(700_000)).toBe(1024 * 1024);
    expect(byteStep(3 * 1024 * 1024)).toBe(4 * 1024 * 1024);
  });
  it('has ticks inside the window, apart from each other', () => {
    const found = ticks({ from: 100, to: 100_000 }, 900, 90);
    expect(found.length).toBeGreaterThan(3);
    expect(found.length).toBeLessThanOrEqual(10);
    for (const at of found) expect(at % 1024).toBe(0);
  });
  it('names ticks so that no two are alike', () => {
    expect(rulerText(158 * 1024 * 1024 + 8192, 8192)).toBe('161,800 KiB');
    expect(rulerText(165_281_024, 128)).toBe('165,281,024');
    expect(rulerText(40 * 1024 * 1024, 20 * 1024 * 1024)).toBe('40 MiB');
    for (let bytes = 3e9; bytes > 20; bytes /= 7) {
      const names = ticks({ from: 1e9, to: 1e9 + bytes }, 1200, 110).map((at, _, all) =>
        rulerText(at, (all[1] ?? 0) - (all[0] ?? 0)),
      );
      expect(new Set(names).size).toBe(names.length);
    }
  });
  it('has none for nothing', () => expect(ticks({ from: 4, to: 4 }, 900, 90)).toEqual([]));
});

it('meets', () => {
  expect(meet({ from: 0, to: 10 }, { from: 5, to: 20 })).toEqual({ from: 5, to: 10 });
  expect(width(meet({ from: 0, to: 10 }, { from: 15, to: 20 }))).toBe(0);
});
