// Bars side by side to scale, and labels that do not cover each other.

export interface Bar {
  x: number;
  width: number;
}

/**
 * Bars from left to right whose widths follow `sizes`, with `gap` pixels between them. None is narrower than `least`, so that an empty
 * segment is seen too; where there are too many for that, gaps go first, then the least width.
 */
export function layoutBars(sizes: readonly number[], pixels: number, gap: number, least: number): Bar[] {
  const count = sizes.length;
  if (count === 0 || pixels <= 0) return [];
  let space = gap;
  if (count * (least + space) > pixels) space = 0;
  const small = Math.min(least, pixels / count);
  const usable = Math.max(0, pixels - space * (count - 1));
  const total = sizes.reduce((sum, size) => sum + Math.max(0, size), 0);
  // Bars below the least width take it from those above.
  let fixed = 0;
  let scaled = total;
  let scale = total === 0 ? 0 : usable / total;
  for (let round = 0; round < 8; round += 1) {
    fixed = 0;
    scaled = 0;
    for (const size of sizes) {
      if (size * scale < small) fixed += small;
      else scaled += size;
    }
    const next = scaled === 0 ? 0 : Math.max(0, usable - fixed) / scaled;
    if (Math.abs(next - scale) < 1e-12) break;
    scale = next;
  }
  const bars: Bar[] = [];
  let x = 0;
  for (const size of sizes) {
    const width = total === 0 ? usable / count : Math.max(size * scale, small);
    bars.push({ x, width });
    x += width + space;
  }
  return bars;
}

export interface Label {
  /** Where it points at. */
  x: number;
  width: number;
}

export interface PlacedLabel {
  /** Its left edge. */
  left: number;
  row: number;
}

/** Labels about their points, moved inwards at the edges; each in the first row in which it covers no other one. */
export function layoutLabels(labels: readonly Label[], pixels: number, gap: number): PlacedLabel[] {
  const order = labels.map((label, number) => ({ label, number })).sort((a, b) => a.label.x - b.label.x);
  const ends: number[] = [];
  const placed: PlacedLabel[] = labels.map(() => ({ left: 0, row: 0 }));
  for (const { label, number } of order) {
    const left = Math.max(0, Math.min(label.x - label.width / 2, pixels - label.width));
    let row = 0;
    while (row < ends.length && (ends[row] as number) + gap > left) row += 1;
    ends[row] = left + label.width;
    placed[number] = { left, row };
  }
  return placed;
}

/** How wide a text is about, in a face whose digits are `each` wide: for layouts that need no more. */
export const textWidth = (text: string, each = 7): number => text.length * each;
