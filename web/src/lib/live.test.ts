import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { kNow, tickAt } from '../../fixtures/shell';
import { grown, kUpdateEveryMs, type live as Live } from './live.svelte';
import type { session as Session } from './session.svelte';

let live: typeof Live;
let session: typeof Session;
let send: (text: string) => void;
let end: () => void;
let status: number;
let asked: string[];

beforeEach(async () => {
  vi.useFakeTimers({ now: kNow });
  vi.resetModules();
  status = 200;
  asked = [];
  vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
    asked.push(address);
    if (status !== 200) return Promise.resolve(new Response('{"error":"too many event streams"}', { status }));
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        send = (text) => control.enqueue(new TextEncoder().encode(text));
        end = () => control.close();
        init.signal?.addEventListener('abort', () => control.error(new DOMException('given up', 'AbortError')));
      },
    });
    return Promise.resolve(new Response(body));
  });
  ({ live } = await import('./live.svelte'));
  ({ session } = await import('./session.svelte'));
});
afterEach(() => {
  live.pause();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const tick = (ms: number): string => `data: ${JSON.stringify(tickAt(kNow + ms))}\n\n`;
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('live', () => {
  it('changes what is shown at most every 250 ms, with the newest numbers', async () => {
    live.start();
    await pass(0);
    send(tick(0));
    await pass(1);
    expect(live.state).toBe('live');
    let seen = 0;
    let before = live.tick;
    for (let at = 0; at < 100; at += 1) {
      send(tick(at * 10));
      await pass(10);
      if (live.tick !== before) seen += 1;
      before = live.tick;
    }
    expect(seen).toBeGreaterThanOrEqual(3);
    expect(seen).toBeLessThanOrEqual(Math.ceil(1000 / kUpdateEveryMs));
    await pass(kUpdateEveryMs);
    expect(live.tick?.now_ms).toBe(kNow + 990);
    expect(live.topics.get('clicks')?.partitions).toBe(12);
  });

  it('says that it is lost, with the reason, and tries again ever later', async () => {
    status = 503;
    live.start();
    await pass(0);
    expect(live.state).toBe('lost');
    expect(live.reason).toBe('too many event streams');
    await pass(60_000);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(15);
    status = 200;
    await pass(8000);
    send(tick(0));
    await pass(1);
    expect(live.state).toBe('live');
    expect(live.reason).toBeNull();
  });

  it('an end and a silence are losses', async () => {
    live.start();
    await pass(0);
    send(tick(0));
    await pass(1);
    end();
    await pass(1);
    expect(live.state).toBe('lost');
    const round = session.round;
    await pass(500);
    send(tick(1));
    await pass(1);
    expect(live.state).toBe('live');
    // What could not be had meanwhile is asked for again, once.
    expect(session.round).toBe(round + 1);
    send(tick(2));
    await pass(300);
    expect(session.round).toBe(round + 1);
    await pass(15_001);
    expect(live.state).toBe('lost');
  });

  it('a pause asks nothing, and going on asks at once', async () => {
    live.start();
    await pass(0);
    send(tick(0));
    await pass(1);
    live.pause();
    await pass(60_000);
    expect(live.state).toBe('paused');
    expect(asked).toHaveLength(1);
    live.resume();
    await pass(0);
    expect(asked).toHaveLength(2);
  });

  it('asks for the partition that is watched', async () => {
    live.start();
    const stop = live.watch({ topic: 'flights', partition: 3 });
    await pass(0);
    expect(asked.at(-1)).toBe('/api/v1/events?topic=flights&partition=3');
    stop();
    await pass(0);
    expect(asked.at(-1)).toBe('/api/v1/events');
  });
});

describe('grown', () => {
  it('keeps five minutes, and starts anew when the clock goes back', () => {
    let rates = { atMs: [] as number[], records: [] as number[], bytes: [] as number[] };
    for (let at = 0; at <= 600; at += 1) rates = grown(rates, at * 1000, at, at * 2);
    expect(rates.atMs[0]).toBe(300_000);
    expect(rates.atMs).toHaveLength(301);
    expect(rates.records.at(-1)).toBe(600);
    expect(rates.bytes).toHaveLength(301);
    expect(grown(rates, 600_000, 7, 7)).toBe(rates);
    expect(grown(rates, 10, 7, 8)).toEqual({ atMs: [10], records: [7], bytes: [8] });
  });
});
