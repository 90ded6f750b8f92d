// The segment map on a canvas: a ruler of bytes, the index entries at the bytes they point at, the batches, their records once there is
// room, the bytes themselves once there is more, and offsets below.

import type { Batch, LogRecord } from '../lib/api';
import { offset } from '../lib/format';
import { cellCount, flagBits, lookOf, type Cell, type CellLook } from './cells';
import type { Palette } from './palette';
import { bodyOf, shortText, type Body } from './records';
import { meet, rulerText, ticks, toPixel, width, type Span } from './span';
import type { Drawn } from './tiles';

export const lanes = {
  ruler: { top: 0, height: 20 },
  index: { top: 22, height: 24 },
  cells: { top: 48, height: 88 },
  offsets: { top: 138, height: 18 },
  bytes: { top: 158, height: 22 },
} as const;
export const mapHeight = 182;

export interface Mark {
  position: number;
  to_position: number | null;
  text: string;
}

export interface MapScene {
  view: Span;
  pixels: number;
  ratio: number;
  fileBytes: number;
  segment: 'active' | 'closed' | 'going' | 'deleted';
  drawn: readonly Drawn[];
  bodies: ReadonlyMap<number, Batch>;
  hover: number | null;
  chosen: number | null;
  marks: readonly Mark[];
  font: string;
  mono: string;
  formatBytes: (bytes: number) => string;
}

/** What lies under a point: a batch or several, and of a batch whose records are shown, the record. */
export interface Hit {
  cell: Cell;
  record: LogRecord | null;
  header: boolean;
}

type Context = CanvasRenderingContext2D;

const patterns = new Map<string, CanvasPattern>();

function patternOf(
  context: Context,
  kind: 'diagonal' | 'cross' | 'dots' | 'rows',
  color: string,
  ratio: number,
): CanvasPattern | null {
  const key = `${kind} ${color} ${ratio}`;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  const size = 8;
  const tile = document.createElement('canvas');
  tile.width = size * ratio;
  tile.height = size * ratio;
  const pen = tile.getContext('2d');
  if (pen === null) return null;
  pen.scale(ratio, ratio);
  pen.strokeStyle = color;
  pen.fillStyle = color;
  pen.lineWidth = 1.4;
  pen.beginPath();
  if (kind === 'diagonal' || kind === 'cross') {
    for (const shift of [-size, 0, size]) {
      pen.moveTo(shift - 1, size + 1);
      pen.lineTo(shift + size + 1, -1);
    }
  }
  if (kind === 'cross') {
    for (const shift of [-size, 0, size]) {
      pen.moveTo(shift - 1, -1);
      pen.lineTo(shift + size + 1, size + 1);
    }
  }
  if (kind === 'rows') {
    pen.moveTo(0, 2);
    pen.lineTo(size, 2);
    pen.moveTo(0, 6);
    pen.lineTo(size, 6);
  }
  pen.stroke();
  if (kind === 'dots') {
    pen.beginPath();
    pen.arc(2, 2, 1.2, 0, Math.PI * 2);
    pen.arc(6, 6, 1.2, 0, Math.PI * 2);
    pen.fill();
  }
  const made = context.createPattern(tile, 'repeat');
  if (made === null) return null;
  made.setTransform(new DOMMatrix().scale(1 / ratio, 1 / ratio));
  if (patterns.size > 64) patterns.clear();
  patterns.set(key, made);
  return made;
}

export function colorOf(look: CellLook, scene: Pick<MapScene, 'segment'>, palette: Palette): string {
  if (look === 'damaged') return palette.damaged;
  if (look === 'aborted') return palette.aborted;
  if (look === 'control') return palette.control;
  return palette[scene.segment];
}

export function paintMap(context: Context, scene: MapScene, palette: Palette): void {
  const { ratio, pixels } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, pixels, mapHeight);
  if (scene.fileBytes === 0 || width(scene.view) === 0) return;
  paintRuler(context, scene, palette);
  paintUnread(context, scene, palette);
  for (const one of scene.drawn) paintCells(context, scene, palette, one);
  let free = 0;
  for (const one of scene.drawn) free = paintIndex(context, scene, palette, one, free);
  paintOffsets(context, scene, palette);
  paintMarks(context, scene, palette);
  paintFocus(context, scene, palette);
}

function paintRuler(context: Context, scene: MapScene, palette: Palette): void {
  context.font = scene.font;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.lineWidth = 1;
  context.strokeStyle = palette.line;
  context.fillStyle = palette['ink-3'];
  context.beginPath();
  const places = ticks(scene.view, scene.pixels, 110);
  const step = (places[1] ?? 0) - (places[0] ?? 0);
  for (const at of places) {
    const x = Math.round(toPixel(scene.view, scene.pixels, at)) + 0.5;
    context.moveTo(x, 2);
    context.lineTo(x, lanes.cells.top + lanes.cells.height);
    const text = rulerText(at, step);
    if (x + 4 + context.measureText(text).width <= scene.pixels) context.fillText(text, x + 4, lanes.ruler.height / 2);
  }
  context.stroke();
}

/** What no answer covers yet is shown as bare ground, so that emptiness is not taken for a gap in the file. */
function paintUnread(context: Context, scene: MapScene, palette: Palette): void {
  const from = Math.max(0, toPixel(scene.view, scene.pixels, 0));
  const to = Math.min(scene.pixels, toPixel(scene.view, scene.pixels, scene.fileBytes));
  context.fillStyle = palette['ground-3'];
  context.fillRect(from, lanes.cells.top, to - from, lanes.cells.height);
}

function paintCells(context: Context, scene: MapScene, palette: Palette, drawn: Drawn): void {
  const { cells } = drawn.map;
  const clip = meet(drawn.clip, scene.view);
  if (width(clip) <= 0) return;
  const { top, height } = lanes.cells;
  const left = toPixel(scene.view, scene.pixels, clip.from);
  const right = toPixel(scene.view, scene.pixels, clip.to);
  context.save();
  context.beginPath();
  context.rect(left, top - 1, right - left, height + 2);
  context.clip();
  const count = cellCount(cells);
  for (let i = 0; i < count; ++i) {
    const position = cells.position[i] as number;
    const size = cells.size_bytes[i] as number;
    if (position + size <= clip.from) continue;
    if (position >= clip.to) break;
    const many = cells.batches[i] as number;
    const flags = cells.flags[i] as number;
    // What a joined cell says of its batches holds for at least one of them: it has marks above, and the colour of the segment.
    const look = many > 1 ? 'data' : lookOf(flags);
    const color = colorOf(look, scene, palette);
    const x0 = toPixel(scene.view, scene.pixels, position);
    const x1 = toPixel(scene.view, scene.pixels, position + size);
    const wide = x1 - x0;
    const gap = wide >= 6 || (many === 1 && wide >= 3) ? 1 : many === 1 && wide >= 1.5 ? 0.5 : 0;
    // Joined neighbours are drawn lower, so that a cell of one batch is known at a glance.
    const y = many > 1 ? top + 12 : top;
    const tall = many > 1 ? height - 12 : height;
    const from = Math.max(x0, -8);
    const to = Math.min(x1, scene.pixels + 8);
    const body = many === 1 ? scene.bodies.get(position) : undefined;
    if (body !== undefined && wide > 200) {
      paintBody(context, scene, palette, body, color);
      continue;
    }
    context.fillStyle = color;
    context.globalAlpha = look === 'empty' ? 0.25 : 1;
    context.fillRect(from, y, Math.max(to - from - gap, 0.6), tall);
    context.globalAlpha = 1;
    if (many > 1) paintAmong(context, scene, palette, flags, from, to - from - gap);
    else if (wide >= 3 || look !== 'data')
      paintSigns(context, scene, palette, look, flags, from, y, to - from - gap, tall);
    if (wide > 34) paintLabel(context, scene, palette, drawn, i, Math.max(x0, 0), Math.min(x1, scene.pixels), y);
  }
  context.restore();
}

/** Above a joined cell: what some of its batches are. */
function paintAmong(context: Context, scene: MapScene, palette: Palette, flags: number, x: number, wide: number): void {
  const { top, height } = lanes.cells;
  if (flags & flagBits.control) {
    context.fillStyle = palette.control;
    context.fillRect(x, top + 9, wide, 2);
  }
  if (flags & flagBits.aborted) {
    context.fillStyle = palette.aborted;
    context.fillRect(x, top + 4, wide, 4);
    const pattern = patternOf(context, 'diagonal', palette.ground, scene.ratio);
    if (pattern !== null) {
      context.fillStyle = pattern;
      context.fillRect(x, top + 4, wide, 4);
    }
  }
  if (flags & flagBits.damaged) {
    context.fillStyle = palette.damaged;
    context.fillRect(x, top - 1, Math.max(wide, 3), height + 1);
    context.strokeStyle = palette.damaged;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - 5, top + 6);
    for (let i = 1; i < 5; i += 1) context.lineTo(x - 5 + i * 3.5, top + (i % 2 === 1 ? 0 : 6));
    context.stroke();
    context.lineWidth = 1;
  }
}

function paintSigns(
  context: Context,
  scene: MapScene,
  palette: Palette,
  look: CellLook,
  flags: number,
  x: number,
  y: number,
  wide: number,
  tall: number,
): void {
  if (wide <= 0) return;
  const kind = look === 'damaged' ? 'cross' : look === 'aborted' ? 'diagonal' : look === 'control' ? 'dots' : null;
  if (kind !== null) {
    const pattern = patternOf(context, kind, palette.ground, scene.ratio);
    if (pattern !== null) {
      context.fillStyle = pattern;
      context.fillRect(x, y, wide, tall);
    }
  } else if (look === 'empty') {
    context.strokeStyle = palette[scene.segment];
    context.setLineDash([3, 2]);
    context.strokeRect(x + 0.5, y + 0.5, Math.max(wide - 1, 0), tall - 1);
    context.setLineDash([]);
  }
  context.fillStyle = palette.ground;
  // Lines at the foot: two for compressed, one on the head for transactional.
  if (flags & 4) {
    context.fillRect(x, y + tall - 3, wide, 1);
    context.fillRect(x, y + tall - 6, wide, 1);
  }
  if (flags & 1) context.fillRect(x, y + 3, wide, 1.5);
}

function plate(context: Context, palette: Palette, text: string, x: number, y: number): void {
  const wide = context.measureText(text).width;
  context.fillStyle = palette.ground;
  context.fillRect(x - 3, y - 8, wide + 6, 16);
  context.fillStyle = palette.ink;
  context.fillText(text, x, y);
}

function paintLabel(
  context: Context,
  scene: MapScene,
  palette: Palette,
  drawn: Drawn,
  i: number,
  x0: number,
  x1: number,
  y: number,
): void {
  const { cells } = drawn.map;
  const many = cells.batches[i] as number;
  const base = cells.base[i] as string;
  const last = cells.last[i] as string;
  const lines = [
    many > 1 ? `${offset(BigInt(many))} batches` : base === last ? offset(base) : `${offset(base)}–${offset(last)}`,
    scene.formatBytes(cells.size_bytes[i] as number),
  ];
  context.font = scene.font;
  context.textBaseline = 'middle';
  let at = y + 14 + (many > 1 ? 0 : 4);
  for (const text of lines) {
    if (context.measureText(text).width > x1 - x0 - 12) return;
    plate(context, palette, text, x0 + 6, at);
    at += 18;
  }
}

const bodyCache = new WeakMap<Batch, Body>();
export function placed(batch: Batch): Body {
  let body = bodyCache.get(batch);
  if (body === undefined) {
    body = bodyOf(batch);
    bodyCache.set(batch, body);
  }
  return body;
}

function paintBody(context: Context, scene: MapScene, palette: Palette, batch: Batch, color: string): void {
  const body = placed(batch);
  const { top, height } = lanes.cells;
  const pixel = (at: number): number => Math.min(Math.max(toPixel(scene.view, scene.pixels, at), -8), scene.pixels + 8);
  const x0 = pixel(batch.position);
  const x1 = pixel(batch.position + batch.size_bytes);
  const bar = 22;
  context.font = scene.font;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  // The batch itself: a bar over all of it, with its offsets.
  context.fillStyle = color;
  context.fillRect(x0, top, x1 - x0 - 1, bar);
  const title =
    batch.base === batch.last ? `batch ${offset(batch.base)}` : `batch ${offset(batch.base)}–${offset(batch.last)}`;
  const seenFrom = Math.max(x0, 0);
  if (context.measureText(title).width < Math.min(x1, scene.pixels) - seenFrom - 12)
    plate(context, palette, title, seenFrom + 6, top + bar / 2);
  // Its header.
  const h1 = pixel(body.header.to);
  const low = top + bar + 1;
  const tall = height - bar - 1;
  context.fillStyle = palette.ground;
  context.fillRect(x0, low, x1 - x0 - 1, tall);
  context.strokeStyle = palette['ink-3'];
  context.lineWidth = 1;
  if (h1 > x0 + 1) {
    const pattern = patternOf(context, 'rows', palette.line, scene.ratio);
    if (pattern !== null) {
      context.fillStyle = pattern;
      context.fillRect(x0, low, h1 - x0, tall);
    }
    context.strokeRect(x0 + 0.5, low + 0.5, Math.max(h1 - x0 - 1, 0), tall - 1);
    paintFields(context, scene, palette, batch, low, tall);
  }
  for (const { record, span } of body.records) {
    const r0 = pixel(span.from);
    const r1 = pixel(span.to);
    if (r1 <= 0 || r0 >= scene.pixels || r1 - r0 < 0.3) continue;
    const tone =
      record.kind === 'tombstone'
        ? palette.tombstone
        : record.kind === 'data'
          ? record.aborted
            ? palette.aborted
            : color
          : palette.control;
    context.fillStyle = tone;
    const gap = r1 - r0 >= 3 ? 1 : 0;
    context.globalAlpha = 0.28;
    context.fillRect(r0, low, r1 - r0 - gap, tall);
    context.globalAlpha = 1;
    context.fillRect(r0, low + tall - 4, r1 - r0 - gap, 4);
    const room = Math.min(r1, scene.pixels) - Math.max(r0, 0) - 10;
    if (room > 24) {
      const x = Math.max(r0, 0) + 5;
      context.save();
      context.beginPath();
      context.rect(x, low, room, tall);
      context.clip();
      context.fillStyle = palette.ink;
      context.font = scene.font;
      context.fillText(offset(record.offset), x, low + 12);
      context.font = scene.mono;
      context.fillText(shortText(record, Math.ceil(room / 6)), x, low + 32);
      context.restore();
    }
  }
  if (width(body.rest) > 0) {
    const r0 = pixel(body.rest.from);
    const r1 = pixel(body.rest.to);
    const text = `${batch.records_total - body.records.length} more`;
    context.font = scene.font;
    context.fillStyle = palette['ink-3'];
    if (r1 - Math.max(r0, 0) > context.measureText(text).width + 12)
      context.fillText(text, Math.max(r0, 0) + 6, low + 14);
  }
}

/** The fields of a header, and the bytes of all, where a byte is wide enough to be read. */
function paintFields(
  context: Context,
  scene: MapScene,
  palette: Palette,
  batch: Batch,
  low: number,
  tall: number,
): void {
  const perByte = scene.pixels / width(scene.view);
  if (perByte >= 5) {
    context.font = scene.font;
    for (const field of batch.fields) {
      const from = toPixel(scene.view, scene.pixels, batch.position + field.at);
      const to = toPixel(scene.view, scene.pixels, batch.position + field.at + field.size_bytes);
      if (to <= 0 || from >= scene.pixels) continue;
      context.fillStyle = palette.ground;
      context.fillRect(from + 1, low + 1, to - from - 1, tall - 2);
      context.strokeStyle = palette['ink-3'];
      context.strokeRect(Math.round(from) + 0.5, low + 0.5, Math.round(to - from), tall - 1);
      context.save();
      context.beginPath();
      context.rect(Math.max(from, 0), low, to - Math.max(from, 0) - 2, tall);
      context.clip();
      context.fillStyle = palette['ink-3'];
      context.fillText(field.name, Math.max(from, 0) + 4, low + 14);
      context.fillStyle = palette.ink;
      context.fillText(field.value, Math.max(from, 0) + 4, low + 34);
      context.restore();
    }
  }
  if (perByte >= 17) {
    context.font = scene.mono;
    context.textAlign = 'center';
    const first = Math.max(0, Math.floor(scene.view.from - batch.position));
    const last = Math.min(batch.hex.length / 2, Math.ceil(scene.view.to - batch.position));
    // The lane of bytes lies outside the clip of the cells: it is drawn with the offsets, from the list kept here.
    byteRuns.push({ batch, first, last });
    context.textAlign = 'left';
  }
}

let byteRuns: { batch: Batch; first: number; last: number }[] = [];

function paintOffsets(context: Context, scene: MapScene, palette: Palette): void {
  const { top, height } = lanes.offsets;
  context.font = scene.font;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.fillStyle = palette['ink-3'];
  let free = 0;
  for (const one of scene.drawn) {
    const { cells } = one.map;
    const clip = meet(one.clip, scene.view);
    if (width(clip) <= 0) continue;
    const count = cellCount(cells);
    for (let i = 0; i < count; ++i) {
      const position = cells.position[i] as number;
      if (position < clip.from) continue;
      if (position >= clip.to) break;
      const x = toPixel(scene.view, scene.pixels, position);
      if (x < free) continue;
      const text = offset(cells.base[i] as string);
      const wide = context.measureText(text).width;
      if (x + wide > scene.pixels) break;
      context.fillRect(Math.round(x), top, 1, 4);
      context.fillText(text, x + 3, top + height / 2 + 2);
      free = x + Math.max(wide + 18, 72);
    }
  }
  if (byteRuns.length > 0) {
    context.font = scene.mono;
    context.textAlign = 'center';
    context.fillStyle = palette.ink;
    for (const { batch, first, last } of byteRuns) {
      for (let i = first; i < last; ++i) {
        const x = toPixel(scene.view, scene.pixels, batch.position + i + 0.5);
        context.fillText(batch.hex.slice(i * 2, i * 2 + 2), x, lanes.bytes.top + lanes.bytes.height / 2);
      }
    }
    context.textAlign = 'left';
    byteRuns = [];
  }
}

/** Labels begin at `free`; gives where the next one may. */
function paintIndex(context: Context, scene: MapScene, palette: Palette, drawn: Drawn, free: number): number {
  const points = drawn.map.index;
  const { top, height } = lanes.index;
  const clip = meet(drawn.clip, scene.view);
  if (width(clip) <= 0) return free;
  const foot = top + height;
  context.font = scene.font;
  context.textBaseline = 'middle';
  context.fillStyle = palette.link;
  // Where they stand closer than a triangle is wide, stems must do.
  const shown = points.position.filter((one) => one >= clip.from && one < clip.to).length;
  const dense = shown > 0 && (width(clip) / width(scene.view)) * scene.pixels < shown * 8;
  for (let i = 0; i < points.position.length; ++i) {
    const position = points.position[i] as number;
    if (position < clip.from) continue;
    if (position >= clip.to) break;
    const x = toPixel(scene.view, scene.pixels, position);
    if (dense) {
      context.fillRect(x - 0.5, foot - 5, 1, 5);
    } else {
      context.beginPath();
      context.moveTo(x, foot);
      context.lineTo(x - 3, foot - 6);
      context.lineTo(x + 3, foot - 6);
      context.fill();
      context.fillRect(x - 0.5, foot - 10, 1, 10);
    }
    const text = offset(points.offset[i] as string);
    const wide = context.measureText(text).width;
    if (x >= free && x + wide + 6 < scene.pixels) {
      context.fillStyle = palette['ink-3'];
      context.fillText(text, x + 5, top + 7);
      context.fillStyle = palette.link;
      free = x + Math.max(wide + 16, 72);
    }
  }
  return free;
}

function paintMarks(context: Context, scene: MapScene, palette: Palette): void {
  context.font = scene.font;
  context.textBaseline = 'middle';
  for (const mark of scene.marks) {
    const x = toPixel(scene.view, scene.pixels, mark.position);
    if (mark.to_position !== null) {
      const to = toPixel(scene.view, scene.pixels, mark.to_position);
      context.fillStyle = palette.link;
      context.fillRect(x, lanes.cells.top - 3, Math.max(to - x, 1), 3);
    }
    if (x < -1 || x > scene.pixels) continue;
    context.fillStyle = palette.link;
    context.fillRect(x, lanes.index.top, 1.5, lanes.cells.top + lanes.cells.height - lanes.index.top);
    plate(context, palette, mark.text, x + 5, lanes.cells.top + lanes.cells.height - 10);
  }
}

function paintFocus(context: Context, scene: MapScene, palette: Palette): void {
  for (const [position, strong] of [
    [scene.hover, false],
    [scene.chosen, true],
  ] as const) {
    if (position === null) continue;
    const cell = cellUnder(scene, position);
    if (cell === null) continue;
    const x0 = toPixel(scene.view, scene.pixels, cell.position);
    const x1 = toPixel(scene.view, scene.pixels, cell.position + cell.size_bytes);
    const from = Math.max(x0, -4);
    context.strokeStyle = palette.ink;
    context.lineWidth = strong ? 2 : 1.5;
    context.strokeRect(
      from,
      lanes.cells.top - 2,
      Math.max(Math.min(x1, scene.pixels + 4) - from - 1, 2),
      lanes.cells.height + 4,
    );
  }
}

/** The finest cell that holds the byte, among what is drawn. */
export function cellUnder(scene: Pick<MapScene, 'drawn'>, position: number): Cell | null {
  for (let i = scene.drawn.length - 1; i >= 0; --i) {
    const { map, clip } = scene.drawn[i] as Drawn;
    if (position < clip.from || position >= clip.to) continue;
    const cells = map.cells;
    let low = 0;
    let high = cellCount(cells);
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cells.position[middle] as number) <= position) low = middle + 1;
      else high = middle;
    }
    const at = low - 1;
    if (at < 0 || position >= (cells.position[at] as number) + (cells.size_bytes[at] as number)) continue;
    return {
      position: cells.position[at] as number,
      size_bytes: cells.size_bytes[at] as number,
      batches: cells.batches[at] as number,
      records: cells.records[at] as number,
      base: cells.base[at] as string,
      last: cells.last[at] as string,
      timestamp_ms: cells.timestamp_ms[at] as number,
      flags: cells.flags[at] as number,
    };
  }
  return null;
}

export function hitAt(scene: Pick<MapScene, 'drawn' | 'bodies' | 'view' | 'pixels'>, position: number): Hit | null {
  const cell = cellUnder(scene, position);
  if (cell === null) return null;
  const batch = cell.batches === 1 ? scene.bodies.get(cell.position) : undefined;
  if (batch === undefined) return { cell, record: null, header: false };
  const body = placed(batch);
  const record = body.records.find((one) => position >= one.span.from && position < one.span.to)?.record ?? null;
  return { cell, record, header: position < body.header.to };
}

/** The cells of the view in order, each once: the table beside the drawing. */
export function cellsInView(scene: Pick<MapScene, 'drawn' | 'view'>, most: number): { cells: Cell[]; more: boolean } {
  const found: Cell[] = [];
  let at = scene.view.from;
  while (at < scene.view.to) {
    const cell = cellUnder(scene, at);
    if (cell === null) {
      // Ground that is not read yet: go on behind it.
      const next = nextStart(scene, at);
      if (next === null) break;
      at = next;
      continue;
    }
    if (found.length === most) return { cells: found, more: true };
    if (found.at(-1)?.position !== cell.position) found.push(cell);
    at = Math.max(cell.position + cell.size_bytes, at + 1);
  }
  return { cells: found, more: false };
}

function nextStart(scene: Pick<MapScene, 'drawn' | 'view'>, after: number): number | null {
  let best: number | null = null;
  for (const { map, clip } of scene.drawn) {
    for (const position of map.cells.position) {
      const from = Math.max(position, clip.from);
      if (from > after && from < scene.view.to && from < clip.to) {
        if (best === null || from < best) best = from;
        break;
      }
    }
  }
  return best;
}
