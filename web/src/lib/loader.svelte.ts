// One answer of the inspector as state: what a view shows, while the next answer is on its way and when it fails.
import { untrack } from 'svelte';
import { ApiError, wasAborted } from './http';
import { session } from './session.svelte';

export interface Loader<T> {
  /** The newest answer. It stays while another is asked for, so that nothing jumps; a failure does not take it away. */
  readonly value: T | null;
  readonly error: ApiError | null;
  /** Nothing has arrived yet. */
  readonly first: boolean;
  /** Asks again, with the same parameters. */
  reload(): void;
}

/**
 * Asks whenever something that `ask` reads before its first await changes; an older question is given up. To be called while a
 * component is made. `ask` may return null: there is nothing to ask.
 */
export function loader<T>(ask: (signal: AbortSignal) => Promise<T> | null): Loader<T> {
  let value = $state.raw<T | null>(null);
  let error = $state.raw<ApiError | null>(null);
  let answered = $state(false);
  let again = $state(0);

  $effect(() => {
    void again;
    void session.round;
    const control = new AbortController();
    const question = ask(control.signal);
    if (question === null) return;
    question.then(
      (answer) => {
        if (control.signal.aborted) return;
        value = answer;
        error = null;
        answered = true;
      },
      (reason: unknown) => {
        if (control.signal.aborted || wasAborted(reason)) return;
        error = reason instanceof ApiError ? reason : new ApiError(0, String(reason));
        answered = true;
      },
    );
    return () => {
      control.abort();
    };
  });

  return {
    get value() {
      return value;
    },
    get error() {
      return error;
    },
    get first() {
      return !answered;
    },
    reload() {
      untrack(() => {
        again += 1;
      });
    },
  };
}
