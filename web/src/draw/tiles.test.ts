import { describe, expect, it } from 'vitest';
import type { SegmentMap } from '../lib/api';
import { TileCache, levelFor, tileSpan, tilesFor } from './tiles';

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; ++i) await Promise.resolve();
};

/** Batches of 1000 bytes, joined in neighbours where more than max_cells would come. */
function mapOf(fileBytes: number, from: number, to: number, most: number, complete = true): SegmentMap {
  const first = Math.floor(from / 1000);
  const last = Math.ceil(to / 1000);
  const each = Math.max(1, Math.ceil((last - first) / most));
  const cells: SegmentMap['cells'] = {
    position: [],
    size_bytes: [],
    batches: [],
    records: [],
    base: [],
    last: [],
    timestamp_ms: [],
    flags: [],
  };
  for (let at = first; at < last; at += each) {
    const many = Math.min(each, last - at);
    cells.position.push(at * 1000);
    cells.size_bytes.push(many * 1000);
    cells.batches.push(many);
    cells.records.push(many);
    cells.base.push(String(at));
    cells.last.push(String(at + many - 1));
    cells.timestamp_ms.push(0);
    cells.flags.push(0);
  }
  return {
    base: '0',
    file_bytes: fileBytes,
    from_position: first * 1000,
    to_position: last * 1000,
    verified_to: last * 1000,
    cells,
    index: { position: [], offset: [] },
    index_entries: 0,
    complete,
    scanned_bytes: 0,
    microseconds: 0,
    damage: [],
  };
}

const file = 100_000_000;

describe('tiles of a view', () => {
  it('are few at every zoom', () => {
    for (let bytes = file; bytes > 16; bytes /= 3) {
      const view = { from: 12_345_678 % (file - bytes + 1), to: (12_345_678 % (file - bytes + 1)) + bytes };
      const found = tilesFor(view, 1200, file);
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThan(8);
      expect(tileSpan(found[0]!, file).from).toBeLessThanOrEqual(view.from);
      expect(tileSpan(found.at(-1)!, file).to).toBeGreaterThanOrEqual(Math.min(view.to, file) - 1);
    }
  });
  it('join without a gap', () => {
    for (let number = 0; number < 7; ++number)
      expect(tileSpan({ level: 3, number }, 1_000_003).to).toBe(
        tileSpan({ level: 3, number: number + 1 }, 1_000_003).from,
      );
  });
  it('are none for an empty file', () => expect(tilesFor({ from: 0, to: 0 }, 1000, 0)).toEqual([]));
  it('grow finer as one zooms in', () => {
    expect(levelFor({ from: 0, to: file }, 1024, file)).toBe(1);
    expect(levelFor({ from: 0, to: file / 1024 }, 1024, file)).toBe(11);
  });
});

describe('the cache', () => {
  it('asks once for each tile, and draws the coarser one until the finer is there', async () => {
    const asked: string[] = [];
    let open: (() => void)[] = [];
    const cache = new TileCache(
      file,
      async (query) => {
        asked.push(`${query.from_position}-${query.to_position}`);
        await new Promise<void>((go) => open.push(go));
        return mapOf(file, query.from_position!, query.to_position!, query.max_cells!);
      },
      () => undefined,
    );
    const all = { from: 0, to: file };
    cache.want(all, 512);
    cache.want(all, 512);
    expect(asked).toEqual([`0-${file}`]);
    expect(cache.visible(all, 512)).toEqual([]);
    open.forEach((go) => go());
    await settle();
    expect(cache.visible(all, 512)).toHaveLength(1);
    open = [];
    const near = { from: 0, to: file / 2 };
    cache.want(near, 512);
    expect(asked.length).toBe(3);
    const drawn = cache.visible(near, 512);
    expect(drawn.length).toBeGreaterThan(0);
    expect(drawn.every((one) => one.map.to_position === file)).toBe(true);
    open.forEach((go) => go());
    await settle();
    expect(cache.visible(near, 512)[0]!.map.to_position).toBe(file / 2);
    cache.want(near, 512);
    expect(asked.length).toBe(3);
  });

  it('stops what the view has left', async () => {
    const stopped: number[] = [];
    const cache = new TileCache(
      file,
      (query, signal) =>
        new Promise((_, no) => {
          signal.addEventListener('abort', () => {
            stopped.push(query.from_position!);
            no(signal.reason as Error);
          });
        }),
      () => undefined,
    );
    cache.want({ from: 0, to: file / 64 }, 1024);
    cache.want({ from: file / 2, to: file / 2 + file / 64 }, 1024);
    await settle();
    expect(stopped).toContain(0);
    cache.close();
    await settle();
    expect(cache.busy).toBe(false);
    expect(cache.problem).toBeUndefined();
  });

  it('asks again from where an answer stopped', async () => {
    const asked: number[] = [];
    const cache = new TileCache(
      file,
      (query) => {
        asked.push(query.from_position!);
        const to = Math.min(query.to_position!, query.from_position! + 40_000_000);
        return Promise.resolve(mapOf(file, query.from_position!, to, query.max_cells!, to === query.to_position));
      },
      () => undefined,
    );
    cache.want({ from: 0, to: file }, 512);
    await settle();
    expect(asked).toEqual([0, 40_000_000, 80_000_000]);
    expect(cache.visible({ from: 0, to: file }, 512)).toHaveLength(3);
  });

  it('asks for nothing below cells that are single batches', async () => {
    const small = 100_000;
    let asked = 0;
    const cache = new TileCache(
      small,
      (query) => {
        ++asked;
        return Promise.resolve(mapOf(small, query.from_position!, query.to_position!, query.max_cells!));
      },
      () => undefined,
    );
    cache.want({ from: 0, to: small }, 512);
    await settle();
    cache.want({ from: 2000, to: 4000 }, 512);
    await settle();
    expect(asked).toBe(1);
    expect(cache.visible({ from: 2000, to: 4000 }, 512).length).toBeGreaterThan(0);
  });

  it('keeps a failure until it is told to try again', async () => {
    let asked = 0;
    const cache = new TileCache(
      file,
      () => {
        ++asked;
        return Promise.reject(new Error('gone'));
      },
      () => undefined,
    );
    cache.want({ from: 0, to: file }, 512);
    await settle();
    cache.want({ from: 0, to: file }, 512);
    expect(asked).toBe(1);
    expect(String(cache.problem)).toContain('gone');
    cache.retry();
    cache.want({ from: 0, to: file }, 512);
    expect(asked).toBe(2);
  });
});
