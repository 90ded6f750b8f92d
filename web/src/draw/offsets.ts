// An axis of offsets. They are 64 bit numbers and come as text; only a share of the axis (0 to 1) becomes a JavaScript number.

export interface OffsetAxis {
  from: bigint;
  to: bigint;
}

export const toBig = (text: string | null | undefined, otherwise = 0n): bigint => {
  if (text === null || text === undefined || !/^-?\d{1,19}$/.test(text.trim())) return otherwise;
  return BigInt(text.trim());
};

/** Whether the text is an i64. */
export function isOffset(text: string): boolean {
  if (!/^-?\d{1,19}$/.test(text.trim())) return false;
  const value = BigInt(text.trim());
  return value >= -(1n << 63n) && value < 1n << 63n;
}

/** The smallest axis that shows all of them; at least one offset wide. */
export function axisOf(values: readonly (string | null | undefined)[]): OffsetAxis {
  let from: bigint | null = null;
  let to: bigint | null = null;
  for (const text of values) {
    if (text === null || text === undefined) continue;
    const value = toBig(text);
    if (from === null || value < from) from = value;
    if (to === null || value > to) to = value;
  }
  if (from === null || to === null) return { from: 0n, to: 1n };
  return { from, to: to > from ? to : from + 1n };
}

/** Where `value` lies, 0 at `from` and 1 at `to`; exact to a millionth of the axis, and not cut off outside. */
export function share(axis: OffsetAxis, value: bigint): number {
  const length = axis.to - axis.from;
  if (length <= 0n) return 0;
  if (length < 1n << 50n) return Number(value - axis.from) / Number(length);
  return Number(((value - axis.from) * 1_000_000n) / length) / 1_000_000;
}

export const shareOf = (axis: OffsetAxis, text: string): number => share(axis, toBig(text));

/** The offset at a share of the axis. */
export function atShare(axis: OffsetAxis, part: number): bigint {
  return (
    axis.from + ((axis.to - axis.from) * BigInt(Math.round(Math.min(Math.max(part, 0), 1) * 1_000_000))) / 1_000_000n
  );
}

/** Round offsets for an axis: at most `most` of them. */
export function offsetTicks(axis: OffsetAxis, most: number): bigint[] {
  const length = axis.to - axis.from;
  if (most < 1 || length <= 0n) return [];
  let step = 1n;
  search: for (let power = 1n; ; power *= 10n) {
    for (const times of [1n, 2n, 5n]) {
      step = power * times;
      if (length / step < BigInt(most)) break search;
    }
  }
  const found: bigint[] = [];
  let at = (axis.from / step) * step;
  if (at < axis.from) at += step;
  for (; at <= axis.to; at += step) found.push(at);
  return found;
}

/** `to` minus `from` as text, such as a count of records. */
export const distance = (from: string, to: string): string => (toBig(to) - toBig(from)).toString();

export const compareOffsets = (a: string, b: string): number => {
  const left = toBig(a);
  const right = toBig(b);
  return left < right ? -1 : left > right ? 1 : 0;
};
