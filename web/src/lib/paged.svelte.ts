// A long list that arrives in pages, as they come into sight. What is known stays in place while it is asked for again.
import { ApiError, wasAborted } from './http';

export const kPageRows = 200;

interface PageOf<T> {
  rows: readonly T[];
  total: number;
}

export class Paged<T> {
  /** Rows there are; null: not known yet. */
  total = $state.raw<number | null>(null);
  error = $state.raw<ApiError | null>(null);
  #pages = $state.raw<ReadonlyMap<number, readonly T[]>>(new Map());
  #asked = new Set<number>();
  #control = new AbortController();
  #sight = { from: 0, to: 1 };
  readonly #load: (from: number, limit: number, signal: AbortSignal) => Promise<PageOf<T>>;

  constructor(load: (from: number, limit: number, signal: AbortSignal) => Promise<PageOf<T>>) {
    this.#load = load;
  }

  row(index: number): T | undefined {
    return this.#pages.get(Math.floor(index / kPageRows))?.[index % kPageRows];
  }

  /** What is loaded, in order: for sums and scales. */
  *loaded(): Generator<T> {
    for (const rows of this.#pages.values()) yield* rows;
  }

  /** Rows `from` to before `to` are in sight. */
  need(from: number, to: number): void {
    this.#sight = { from, to };
    const last = Math.floor(Math.max(from, to - 1) / kPageRows);
    for (let page = Math.floor(from / kPageRows); page <= last; page += 1) {
      if (!this.#asked.has(page)) void this.#ask(page);
    }
  }

  /** Asks again for what is in sight; `forget`: it is another list, so that the old rows must go. */
  refresh(forget = false): void {
    this.#control.abort();
    this.#control = new AbortController();
    this.#asked.clear();
    if (forget) {
      this.#pages = new Map();
      this.#sight = { from: 0, to: 1 };
    } else {
      const { from, to } = this.#sight;
      const near = (page: number): boolean => (page + 1) * kPageRows > from && page * kPageRows < to;
      this.#pages = new Map([...this.#pages].filter(([page]) => near(page)));
    }
    this.need(this.#sight.from, this.#sight.to);
  }

  stop(): void {
    this.#control.abort();
  }

  async #ask(page: number): Promise<void> {
    const { signal } = this.#control;
    this.#asked.add(page);
    try {
      const answer = await this.#load(page * kPageRows, kPageRows, signal);
      if (signal.aborted) return;
      const pages = new Map(this.#pages);
      pages.set(page, answer.rows);
      this.#pages = pages;
      this.total = answer.total;
      this.error = null;
    } catch (reason) {
      if (signal.aborted || wasAborted(reason)) return;
      this.#asked.delete(page);
      this.error = reason instanceof ApiError ? reason : new ApiError(0, String(reason));
    }
  }
}
