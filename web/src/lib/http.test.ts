import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError, get, post, wasAborted } from './http';
import { session } from './session.svelte';

const asked = vi.fn<typeof fetch>();

beforeEach(() => {
  asked.mockReset();
  vi.stubGlobal('fetch', asked);
});
afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
  session.token = null;
  session.refused = false;
});

const answers = (status: number, text: string): void => void asked.mockResolvedValue(new Response(text, { status }));
const failure = (address: string): Promise<ApiError> =>
  get(address).then(
    () => {
      throw new Error('it did not fail');
    },
    (error: ApiError) => error,
  );

it('gives what was answered', async () => {
  answers(200, '{"offset":"9007199254740993"}');
  expect(await get('/api/v1/x')).toEqual({ offset: '9007199254740993' });
});

it.each([
  [404, '{"error":"there is no topic","field":"topic"}', 'there is no topic', 'topic'],
  [400, '{"error":"wrong","field":null}', 'wrong', null],
  [502, '<html>bad gateway</html>', 'The inspector answered with status 502.', null],
  [500, '{"error":7}', 'The inspector answered with status 500.', null],
])('a status of %i says why', async (status, text, message, field) => {
  answers(status, text);
  expect(await failure('/api/v1/x')).toMatchObject({ status, message, field });
});

it('another server on the port is told apart', async () => {
  answers(200, '<!doctype html>');
  expect((await failure('/api/v1/x')).message).toContain('not JSON');
});

it('no answer at all has status 0, and what was given up is no failure', async () => {
  asked.mockRejectedValueOnce(new TypeError('Failed to fetch'));
  expect((await failure('/api/v1/x')).status).toBe(0);
  asked.mockRejectedValueOnce(new DOMException('given up', 'AbortError'));
  const error = await get('/api/v1/x').catch((reason: unknown) => reason);
  expect(wasAborted(error)).toBe(true);
});

it('a refusal for want of a token asks for one, which is then sent', async () => {
  answers(401, '{"error":"the token is missing","field":null}');
  await failure('/api/v1/x');
  expect(session.refused).toBe(true);
  const round = session.round;
  session.accept('secret');
  expect(session.refused).toBe(false);
  expect(session.round).toBe(round + 1);
  expect(sessionStorage.getItem('cordwood.token')).toBe('secret');
  answers(200, '{}');
  await post('/api/v1/x', { a: 1 });
  const [, init] = asked.mock.lastCall ?? [];
  expect(new Headers(init?.headers).get('authorization')).toBe('Bearer secret');
  expect(new Headers(init?.headers).get('content-type')).toBe('application/json');
  expect(init?.body).toBe('{"a":1}');
});
