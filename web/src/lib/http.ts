// How the page asks the inspector. Every failure is an ApiError that a view can show in words.
import type { Problem } from './api';
import { session } from './session.svelte';

export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0: there was no answer at all. */
    readonly status: number,
    message: string,
    /** The parameter that is wrong, where the inspector named one. */
    readonly field: string | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export const get = <T>(address: string, signal?: AbortSignal): Promise<T> =>
  ask<T>(address, { signal: signal ?? null });

export const post = <T>(address: string, body: unknown): Promise<T> =>
  ask<T>(address, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** Whether a promise was given up on purpose: then there is nothing to show. */
export const wasAborted = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

async function ask<T>(address: string, init: RequestInit): Promise<T> {
  const headers = new Headers(init.headers);
  headers.set('Accept', 'application/json');
  const token = session.token;
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(address, { ...init, headers, cache: 'no-store', credentials: 'same-origin' });
  } catch (error) {
    if (wasAborted(error)) throw error;
    throw new ApiError(0, 'The inspector does not answer. Its process may have ended.');
  }
  if (response.status === 401) session.refuse();
  const text = await response.text();
  if (!response.ok) throw problemOf(response.status, text);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(
      response.status,
      'The inspector answered with something that is not JSON. Is another server on this port?',
    );
  }
}

function problemOf(status: number, text: string): ApiError {
  try {
    const problem = JSON.parse(text) as Partial<Problem>;
    if (typeof problem.error === 'string') return new ApiError(status, problem.error, problem.field ?? null);
  } catch {
    // Not ours: a proxy's page, say.
  }
  return new ApiError(status, `The inspector answered with status ${status}.`);
}
