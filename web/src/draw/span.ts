// A window on a line of bytes: what a drawing shows, and how wheel, keys and a pinch move it.
//
// Positions are bytes from the start of a file, half open, and may be fractions while something moves.

export interface Span {
  from: number;
  to: number;
}

export const width = (span: Span): number => span.to - span.from;

/** The part of both; empty (from = to) where they do not meet. */
export function meet(a: Span, b: Span): Span {
  const from = Math.max(a.from, b.from);
  return { from, to: Math.max(from, Math.min(a.to, b.to)) };
}

/** `span`, no narrower than `minimum`, no wider than `whole`, and moved into it. */
export function clamp(span: Span, whole: Span, minimum: number): Span {
  const least = Math.min(minimum, width(whole));
  const size = Math.min(Math.max(width(span), least), width(whole));
  const middle = (span.from + span.to) / 2;
  const from = Math.min(Math.max(width(span) === size ? span.from : middle - size / 2, whole.from), whole.to - size);
  return { from, to: from + size };
}

/** `factor` times as wide, while `at` stays under the pointer. */
export function zoom(span: Span, at: number, factor: number, whole: Span, minimum: number): Span {
  const least = Math.min(minimum, width(whole));
  const size = Math.min(Math.max(width(span) * factor, least), width(whole));
  const share = width(span) === 0 ? 0.5 : (at - span.from) / width(span);
  const from = at - size * share;
  return clamp({ from, to: from + size }, whole, minimum);
}

export function pan(span: Span, by: number, whole: Span): Span {
  const size = width(span);
  const from = Math.min(Math.max(span.from + by, whole.from), whole.to - size);
  return { from, to: from + size };
}

export const toPixel = (span: Span, pixels: number, position: number): number =>
  width(span) === 0 ? 0 : ((position - span.from) / width(span)) * pixels;

export const toPosition = (span: Span, pixels: number, pixel: number): number =>
  pixels === 0 ? span.from : span.from + (pixel / pixels) * width(span);

/**
 * The window at `part` (0 to 1) of a flight from `a` to `b`. The width changes by equal factors, and the point that lies at the same
 * share of both windows stays where it is, so that a flight looks like one steady zoom.
 */
export function between(a: Span, b: Span, part: number): Span {
  if (part <= 0) return a;
  if (part >= 1) return b;
  const wide = width(a);
  const narrow = width(b);
  if (wide <= 0 || narrow <= 0 || Math.abs(wide - narrow) < 1e-9) {
    return { from: a.from + (b.from - a.from) * part, to: a.to + (b.to - a.to) * part };
  }
  const size = wide * Math.pow(narrow / wide, part);
  const moved = (size - wide) / (narrow - wide);
  const from = a.from + (b.from - a.from) * moved;
  return { from, to: from + size };
}

/** 0 to 1 to 0 to 1, without a jerk at either end. */
export const ease = (part: number): number => (part < 0.5 ? 2 * part * part : 1 - Math.pow(-2 * part + 2, 2) / 2);

/** Round positions for a ruler: 1, 2 or 5 times a power of ten (of two from 1 KiB on), no nearer to each other than `apart` pixels. */
export function ticks(span: Span, pixels: number, apart: number): number[] {
  if (width(span) <= 0 || pixels <= 0) return [];
  const wanted = (width(span) / pixels) * apart;
  const step = byteStep(wanted);
  const found: number[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to && found.length < 200; at += step) found.push(at);
  return found;
}

export function byteStep(wanted: number): number {
  if (wanted <= 1) return 1;
  if (wanted <= 512) {
    // Below a KiB powers of two, as in a memory view.
    return Math.pow(2, Math.ceil(Math.log2(wanted)));
  }
  let unit = 1024;
  while (wanted > unit * 512) unit *= 1024;
  for (const times of [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 512])
    if (unit * times >= wanted) return unit * times;
  return unit * 1024;
}

const grouped = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');

/** The name of a tick: in the largest unit in which ticks `step` apart are whole numbers. */
export function rulerText(at: number, step: number): string {
  for (const [unit, name] of [
    [1024 * 1024 * 1024, 'GiB'],
    [1024 * 1024, 'MiB'],
    [1024, 'KiB'],
  ] as const)
    if (step >= unit && step % unit === 0 && at % unit === 0) return `${grouped(at / unit)} ${name}`;
  return grouped(at);
}
