import { describe, expect, it, vi } from 'vitest';
import { ApiError } from './http';
import { kPageRows, Paged } from './paged.svelte';

const kTotal = 1000;
const rowsOf = (from: number, limit: number, mark = ''): string[] =>
  Array.from({ length: Math.min(limit, kTotal - from) }, (_, at) => `${mark}${from + at}`);

describe('Paged', () => {
  it('asks for the pages that are in sight, and for each once', async () => {
    const load = vi.fn((from: number, limit: number) => Promise.resolve({ rows: rowsOf(from, limit), total: kTotal }));
    const list = new Paged<string>(load);
    list.need(0, 10);
    await vi.waitFor(() => expect(list.total).toBe(kTotal));
    expect(list.row(0)).toBe('0');
    expect(list.row(kPageRows)).toBeUndefined();
    list.need(kPageRows - 5, kPageRows + 5);
    list.need(kPageRows - 5, kPageRows + 5);
    await vi.waitFor(() => expect(list.row(kPageRows)).toBe(String(kPageRows)));
    expect(load.mock.calls.map(([from, limit]) => [from, limit])).toEqual([
      [0, kPageRows],
      [kPageRows, kPageRows],
    ]);
    list.need(990, 1000);
    await vi.waitFor(() => expect(list.row(999)).toBe('999'));
    expect(list.row(1000)).toBeUndefined();
  });

  it('keeps rows in place while they are asked for again, unless it is another list', async () => {
    let mark = 'a';
    const list = new Paged<string>((from, limit) =>
      Promise.resolve({ rows: rowsOf(from, limit, mark), total: kTotal }),
    );
    list.need(0, 10);
    await vi.waitFor(() => expect(list.row(3)).toBe('a3'));
    mark = 'b';
    list.refresh();
    expect(list.row(3)).toBe('a3');
    await vi.waitFor(() => expect(list.row(3)).toBe('b3'));
    list.refresh(true);
    expect(list.row(3)).toBeUndefined();
  });

  it('an answer to an older question is not taken', async () => {
    const answers: ((mark: string) => void)[] = [];
    const list = new Paged<string>(
      (from, limit) =>
        new Promise((resolve) => answers.push((mark) => resolve({ rows: rowsOf(from, limit, mark), total: kTotal }))),
    );
    list.need(0, 10);
    list.refresh();
    answers[1]?.('new');
    await vi.waitFor(() => expect(list.row(0)).toBe('new0'));
    answers[0]?.('old');
    await new Promise((done) => setTimeout(done));
    expect(list.row(0)).toBe('new0');
  });

  it('says what failed, keeps what it has and asks again', async () => {
    let fails = true;
    const list = new Paged<string>((from, limit) =>
      fails
        ? Promise.reject(new ApiError(503, 'too many'))
        : Promise.resolve({ rows: rowsOf(from, limit), total: kTotal }),
    );
    list.need(0, 10);
    await vi.waitFor(() => expect(list.error?.message).toBe('too many'));
    fails = false;
    list.need(0, 10);
    await vi.waitFor(() => expect(list.row(9)).toBe('9'));
    expect(list.error).toBeNull();
    fails = true;
    list.refresh();
    await vi.waitFor(() => expect(list.error).not.toBeNull());
    expect(list.row(9)).toBe('9');
  });
});
