// A slider over many powers of ten: its places are equal factors.

/** 0 to 1 for a value from `least` to `most`. */
export function placeOf(value: number, least: number, most: number): number {
  if (value <= least) return 0;
  if (value >= most) return 1;
  return Math.log(value / least) / Math.log(most / least);
}

/** The value at a place, rounded to two digits, so that it can be said. */
export function valueAt(place: number, least: number, most: number): number {
  const raw = least * Math.pow(most / least, Math.min(Math.max(place, 0), 1));
  const unit = Math.pow(10, Math.max(0, Math.floor(Math.log10(raw)) - 1));
  return Math.min(most, Math.max(least, Math.round(raw / unit) * unit));
}
