import { expect, it } from 'vitest';
import { placeOf, valueAt } from './slider';

it('goes to a place and back, to two digits', () => {
  for (const value of [1000, 4200, 61_000, 7_700_000, 604_800_000]) {
    expect(Math.abs(valueAt(placeOf(value, 1000, 1e11), 1000, 1e11) / value - 1)).toBeLessThan(0.05);
  }
});
it('stays within its ends', () => {
  expect(placeOf(1, 1000, 1e9)).toBe(0);
  expect(placeOf(1e12, 1000, 1e9)).toBe(1);
  expect(valueAt(-3, 1000, 1e9)).toBe(1000);
  expect(valueAt(3, 1000, 1e9)).toBe(1e9);
});
it('gives equal factors for equal ways', () => {
  expect(valueAt(0.5, 1000, 1e9)).toBe(1e6);
});
