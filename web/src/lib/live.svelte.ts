// The live numbers: one stream for the whole page. It says when it is lost and tries again; it rests while the tab is hidden.
import { SvelteMap } from 'svelte/reactivity';
import { eventsAddress, type EventsQuery, type Tick, type TopicTick } from './api';
import { session } from './session.svelte';
import { EventReader } from './sse';

/** Between two changes of what is shown. */
export const kUpdateEveryMs = 250;
/** The inspector promises a tick in 10 s; silence for longer means that the connection is gone, whatever TCP thinks. */
const kSilenceMs = 15_000;
const kRetryMs = [500, 1000, 2000, 4000, 8000] as const;
/** Points that a chart keeps: five minutes. */
const kHistoryMs = 5 * 60_000;

export interface Rates {
  /** Equally long, ascending in time. */
  atMs: number[];
  records: number[];
  bytes: number[];
}

export type LiveState =
  | 'off' // a directory without a broker, or not asked for yet
  | 'connecting'
  | 'live'
  | 'paused' // by the person, to read in peace
  | 'lost'
  | 'resting'; // the tab is hidden

class Live {
  state = $state<LiveState>('off');
  /** The newest tick; null before the first. */
  tick = $state.raw<Tick | null>(null);
  /** Of each topic that was in a tick, the newest. */
  topics = new SvelteMap<string, TopicTick>();
  /** The rates of all topics over the last minutes; replaced as a whole at each tick. */
  all = $state.raw<Rates>({ atMs: [], records: [], bytes: [] });
  /** The same of the topic or partition that is watched. */
  watched = $state.raw<Rates>({ atMs: [], records: [], bytes: [] });
  /** When the last tick came, by this machine's clock. */
  lastMs = $state<number | null>(null);
  retryAtMs = $state<number | null>(null);
  /** Why it is lost, in words; null: no answer. */
  reason = $state<string | null>(null);

  #wanted = false;
  #target: EventsQuery = {};
  #chartTopic: string | null = null;
  #control: AbortController | null = null;
  #retries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #waiting: Tick[] = [];
  #shownMs = 0;
  #flush: ReturnType<typeof setTimeout> | undefined;

  /** To be called once it is known that a broker is behind the page. */
  start(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    document.addEventListener('visibilitychange', this.#visibility);
    this.#connect();
  }

  /** Watches a partition in detail, until what it returns is called. */
  watch(target: { topic: string; partition: number }): () => void {
    this.#aim({ topic: target.topic, partition: target.partition }, target.topic);
    return () => {
      if (this.#target.topic === target.topic && this.#target.partition === target.partition) this.#aim({}, null);
    };
  }

  /** Keeps the rates of a topic in `watched`, until what it returns is called. */
  chart(topic: string): () => void {
    this.#aim({}, topic);
    return () => {
      if (this.#chartTopic === topic && this.#target.topic === undefined) this.#chartTopic = null;
    };
  }

  /** Rates of the topic that is charted, from elsewhere: ticks hold only what changed, and at most 500 topics. */
  sample(topic: string, nowMs: number, records: number, bytes: number): void {
    if (this.#chartTopic !== topic || this.topics.has(topic) || this.state !== 'live') return;
    this.watched = grown(this.watched, nowMs, records, bytes);
  }

  pause(): void {
    if (this.state === 'off') return;
    this.#stop();
    this.state = 'paused';
  }

  /** Connects now, whether it was paused or waits to try again. */
  resume(): void {
    if (!this.#wanted) return;
    this.#retries = 0;
    this.#connect();
  }

  #aim(target: EventsQuery, topic: string | null): void {
    const same = this.#target.topic === target.topic && this.#target.partition === target.partition;
    if (this.#chartTopic !== topic || !same) this.watched = { atMs: [], records: [], bytes: [] };
    this.#chartTopic = topic;
    this.#target = target;
    if (!same && this.#wanted && this.state !== 'paused' && this.state !== 'resting') this.#connect();
  }

  #visibility = (): void => {
    if (document.hidden && this.state !== 'paused' && this.state !== 'off') {
      this.#stop();
      this.state = 'resting';
    } else if (!document.hidden && this.state === 'resting') {
      this.resume();
    }
  };

  #stop(): void {
    this.#control?.abort();
    this.#control = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    clearTimeout(this.#flush);
    this.#flush = undefined;
    this.#waiting = [];
    this.retryAtMs = null;
  }

  #connect(): void {
    this.#stop();
    const control = new AbortController();
    this.#control = control;
    if (this.state !== 'lost' && this.state !== 'live') this.state = 'connecting';
    this.#listen(control).then(
      () => {
        if (!control.signal.aborted) this.#lose(null);
      },
      (error: unknown) => {
        if (!control.signal.aborted)
          this.#lose(error instanceof Error && error.name === 'Refusal' ? error.message : null);
      },
    );
  }

  async #listen(control: AbortController): Promise<void> {
    const headers = new Headers({ Accept: 'text/event-stream' });
    if (session.token !== null) headers.set('Authorization', `Bearer ${session.token}`);
    this.#expect(control);
    const response = await fetch(eventsAddress(this.#target), { headers, cache: 'no-store', signal: control.signal });
    if (response.status === 401) session.refuse();
    if (!response.ok || response.body === null) throw refusal(response.status, await response.text());
    const reader = new EventReader((data) => {
      if (control.signal.aborted) return;
      this.#expect(control);
      this.#take(JSON.parse(data) as Tick);
    });
    const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await chunks.read();
      if (done) return;
      reader.push(value);
    }
  }

  #expect(control: AbortController): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      if (control.signal.aborted) return;
      control.abort();
      this.#lose('It has been silent for 15 s.');
    }, kSilenceMs);
  }

  #lose(reason: string | null): void {
    this.#stop();
    this.state = 'lost';
    this.reason = reason;
    const wait = kRetryMs[Math.min(this.#retries, kRetryMs.length - 1)] ?? 8000;
    this.#retries += 1;
    this.retryAtMs = Date.now() + wait;
    this.#timer = setTimeout(() => {
      this.#connect();
    }, wait);
  }

  /** However fast ticks come, what is shown changes at most every 250 ms; none is left out of the topics' numbers. */
  #take(tick: Tick): void {
    this.#waiting.push(tick);
    if (this.#waiting.length > 100) this.#waiting.shift();
    if (this.#flush !== undefined) return;
    const wait = Math.max(0, this.#shownMs + kUpdateEveryMs - Date.now());
    this.#flush = setTimeout(() => {
      this.#flush = undefined;
      this.#show();
    }, wait);
  }

  #show(): void {
    const ticks = this.#waiting;
    this.#waiting = [];
    const last = ticks.at(-1);
    if (last === undefined) return;
    this.#shownMs = Date.now();
    for (const tick of ticks) for (const topic of tick.topics) this.topics.set(topic.name, topic);
    this.tick = last;
    this.lastMs = Date.now();
    if (this.state === 'lost') session.askAgain();
    this.state = 'live';
    this.reason = null;
    this.retryAtMs = null;
    this.#retries = 0;
    this.all = grown(this.all, last.now_ms, last.records_per_second, last.bytes_per_second);
    const topic = this.#chartTopic === null ? undefined : this.topics.get(this.#chartTopic);
    const watched = last.partition ?? topic;
    if (watched !== undefined) {
      this.watched = grown(this.watched, last.now_ms, watched.records_per_second, watched.bytes_per_second);
    }
  }
}

function refusal(status: number, text: string): Error {
  let message = `The inspector answered with status ${status}.`;
  try {
    const body = JSON.parse(text) as { error?: unknown };
    if (typeof body.error === 'string') message = body.error;
  } catch {
    // Not JSON: the status must do.
  }
  const error = new Error(message);
  error.name = 'Refusal';
  return error;
}

/** With one point more, and without those that are too old. A clock that went back starts anew. */
export function grown(rates: Rates, nowMs: number, records: number, bytes: number): Rates {
  const last = rates.atMs.at(-1);
  if (last !== undefined && nowMs <= last)
    return nowMs === last ? rates : { atMs: [nowMs], records: [records], bytes: [bytes] };
  const from = rates.atMs.findIndex((at) => at >= nowMs - kHistoryMs);
  const keep = from < 0 ? rates.atMs.length : from;
  return {
    atMs: [...rates.atMs.slice(keep), nowMs],
    records: [...rates.records.slice(keep), records],
    bytes: [...rates.bytes.slice(keep), bytes],
  };
}

export const live = new Live();
