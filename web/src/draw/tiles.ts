// Pieces of a segment map at powers of two, so that zooming asks for little and never twice for the same.
//
// Level n cuts the file into 2^n tiles. A view is drawn from the level at which a tile is about as wide as the window it is shown in, and,
// while that one is under way, from whatever coarser tile is there. Tiles whose cells are all single batches end the search: nothing finer
// exists below them.

import type { SegmentMap, SegmentMapQuery } from '../lib/api';
import { isExact } from './cells';
import { width, type Span } from './span';

export interface TileId {
  level: number;
  number: number;
}

export const tilePixels = 512;
export const cellsPerTile = 256;
export const leastTileBytes = 2048;

export function tileSpan(id: TileId, fileBytes: number): Span {
  const parts = Math.pow(2, id.level);
  return { from: Math.floor((fileBytes * id.number) / parts), to: Math.floor((fileBytes * (id.number + 1)) / parts) };
}

/** The level at which a tile is drawn between one and two times `tilePixels` wide. */
export function levelFor(view: Span, pixels: number, fileBytes: number): number {
  if (width(view) <= 0 || pixels <= 0 || fileBytes <= 0) return 0;
  const fileInPixels = (fileBytes / width(view)) * pixels;
  const wanted = Math.floor(Math.log2(fileInPixels / tilePixels));
  const finest = Math.floor(Math.log2(fileBytes / leastTileBytes));
  return Math.max(0, Math.min(wanted, finest, 40));
}

export function tilesFor(view: Span, pixels: number, fileBytes: number): TileId[] {
  if (fileBytes <= 0) return [];
  const level = levelFor(view, pixels, fileBytes);
  const parts = Math.pow(2, level);
  const first = Math.max(0, Math.floor((view.from / fileBytes) * parts));
  const last = Math.min(parts - 1, Math.floor((view.to / fileBytes) * parts));
  const found: TileId[] = [];
  for (let number = first; number <= last && found.length < 64; ++number) found.push({ level, number });
  return found;
}

const keyOf = (id: TileId): string => `${id.level}/${id.number}`;

interface Tile {
  id: TileId;
  span: Span;
  parts: SegmentMap[];
  whole: boolean;
  exact: boolean;
  used: number;
}

export interface Drawn {
  map: SegmentMap;
  /** Only this much of the map is to be drawn: its neighbour has the rest. */
  clip: Span;
}

export type AskMap = (
  query: Pick<SegmentMapQuery, 'from_position' | 'to_position' | 'max_cells'>,
  signal: AbortSignal,
) => Promise<SegmentMap>;

/** Asks for tiles, keeps the last `most` of them, and gives what is there to draw. One segment's; made anew when the file grows. */
export class TileCache {
  #tiles = new Map<string, Tile>();
  #underWay = new Map<string, AbortController>();
  #clock = 0;
  #failed = new Map<string, unknown>();

  constructor(
    readonly fileBytes: number,
    private readonly ask: AskMap,
    private readonly changed: () => void,
    private readonly most = 300,
  ) {}

  get busy(): boolean {
    return this.#underWay.size > 0;
  }

  get problem(): unknown {
    return this.#failed.values().next().value;
  }

  close(): void {
    for (const controller of this.#underWay.values()) controller.abort();
    this.#underWay.clear();
  }

  /** Begins what the view needs and stops what it no longer does. */
  want(view: Span, pixels: number): void {
    const wanted = tilesFor(view, pixels, this.fileBytes).filter((id) => !this.#settled(id));
    const keys = new Set(wanted.map(keyOf));
    for (const [key, controller] of this.#underWay) {
      if (!keys.has(key) && key !== '0/0') {
        controller.abort();
        this.#underWay.delete(key);
      }
    }
    for (const id of wanted) {
      if (this.#underWay.size >= 6) break;
      const key = keyOf(id);
      if (!this.#underWay.has(key) && !this.#failed.has(key)) void this.#fetch(id, key);
    }
  }

  /** Forgets what failed, so that it is asked for again. */
  retry(): void {
    this.#failed.clear();
  }

  /** What to draw for the view, coarser pieces first. */
  visible(view: Span, pixels: number): Drawn[] {
    const found: Drawn[] = [];
    const seen = new Set<string>();
    const under: Drawn[] = [];
    for (const id of tilesFor(view, pixels, this.fileBytes)) {
      const clip = tileSpan(id, this.fileBytes);
      const tile = this.#best(id);
      if (tile === null) continue;
      tile.used = ++this.#clock;
      const same = tile.id.level === id.level && tile.id.number === id.number;
      if (!same || !tile.whole) {
        // What this tile has not read yet is drawn from the next coarser one.
        const coarser = same ? this.#coarser(id) : null;
        if (coarser !== null) for (const map of coarser.parts) under.push({ map, clip });
      }
      const key = `${keyOf(tile.id)} ${same ? '' : keyOf(id)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const map of tile.parts) found.push({ map, clip: same ? tile.span : clip });
    }
    return [...under, ...found];
  }

  #best(id: TileId): Tile | null {
    const own = this.#tiles.get(keyOf(id));
    if (own !== undefined && own.parts.length > 0) return own;
    return this.#coarser(id);
  }

  #coarser(id: TileId): Tile | null {
    for (let level = id.level - 1, number = id.number >> 1; level >= 0; --level, number >>= 1) {
      const tile = this.#tiles.get(`${level}/${number}`);
      if (tile !== undefined && tile.parts.length > 0) return tile;
    }
    return null;
  }

  /** Nothing more is to be asked for this tile. */
  #settled(id: TileId): boolean {
    if (this.#tiles.get(keyOf(id))?.whole === true) return true;
    for (let level = id.level - 1, number = id.number >> 1; level >= 0; --level, number >>= 1) {
      if (this.#tiles.get(`${level}/${number}`)?.exact === true) return true;
    }
    return false;
  }

  async #fetch(id: TileId, key: string): Promise<void> {
    const controller = new AbortController();
    this.#underWay.set(key, controller);
    const span = tileSpan(id, this.fileBytes);
    const tile: Tile = this.#tiles.get(key) ?? { id, span, parts: [], whole: false, exact: true, used: ++this.#clock };
    let from = span.from;
    const last = tile.parts.at(-1);
    if (last !== undefined) from = last.to_position;
    try {
      // One answer reads only so many bytes; a large tile comes in pieces, and each is drawn as it comes.
      for (;;) {
        const map = await this.ask(
          { from_position: from, to_position: span.to, max_cells: cellsPerTile },
          controller.signal,
        );
        if (controller.signal.aborted) return;
        tile.parts.push(map);
        tile.exact &&= isExact({ ...map, complete: true });
        this.#tiles.set(key, tile);
        if (map.complete || map.to_position <= from || map.to_position >= span.to) break;
        from = map.to_position;
        this.changed();
      }
      tile.whole = true;
      this.#trim();
    } catch (problem) {
      if (!controller.signal.aborted) this.#failed.set(key, problem);
    } finally {
      if (this.#underWay.get(key) === controller) this.#underWay.delete(key);
      if (!controller.signal.aborted) this.changed();
    }
  }

  #trim(): void {
    if (this.#tiles.size <= this.most) return;
    const oldest = [...this.#tiles.entries()].filter(([key]) => key !== '0/0').sort((a, b) => a[1].used - b[1].used);
    for (const [key] of oldest.slice(0, this.#tiles.size - this.most)) this.#tiles.delete(key);
  }
}
