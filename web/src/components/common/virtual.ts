// Which rows of a long table are drawn: those in the window and a few around them. All rows have the same height.

export interface Span {
  /** The first one. */
  from: number;
  /** Behind the last one. */
  to: number;
}

const kAround = 8;

/**
 * `above`: pixels of the rows' area that lie above the window's upper edge (negative: the area starts below that edge).
 * Always within 0 and `total`; an area out of sight gives the rows nearest to the window.
 */
export function visible(total: number, rowHeight: number, above: number, windowHeight: number): Span {
  if (total <= 0 || rowHeight <= 0) return { from: 0, to: 0 };
  const first = Math.floor(above / rowHeight) - kAround;
  const last = Math.ceil((above + Math.max(0, windowHeight)) / rowHeight) + kAround;
  const from = Math.min(Math.max(0, first), Math.max(0, total - 2 * kAround));
  const to = Math.min(total, Math.max(from + 2 * kAround, last));
  return { from, to };
}

/** Where a key moves the cursor of a table; null: it is not a key of the table. */
export function moved(
  key: string,
  at: { row: number; column: number },
  size: { rows: number; columns: number },
  pageRows: number,
  toEnd: boolean,
): { row: number; column: number } | null {
  const within = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
  switch (key) {
    case 'ArrowDown':
      return { row: within(at.row + 1, size.rows), column: at.column };
    case 'ArrowUp':
      return { row: within(at.row - 1, size.rows), column: at.column };
    case 'ArrowRight':
      return { row: at.row, column: within(at.column + 1, size.columns) };
    case 'ArrowLeft':
      return { row: at.row, column: within(at.column - 1, size.columns) };
    case 'PageDown':
      return { row: within(at.row + pageRows, size.rows), column: at.column };
    case 'PageUp':
      return { row: within(at.row - pageRows, size.rows), column: at.column };
    case 'Home':
      return toEnd ? { row: 0, column: 0 } : { row: at.row, column: 0 };
    case 'End':
      return toEnd ? { row: size.rows - 1, column: size.columns - 1 } : { row: at.row, column: size.columns - 1 };
    default:
      return null;
  }
}
