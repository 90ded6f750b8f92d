import { describe, expect, it } from 'vitest';
import { EventReader, kLongestEvent } from './sse';

function read(...pieces: string[]): string[] {
  const seen: string[] = [];
  const reader = new EventReader((data) => seen.push(data));
  for (const piece of pieces) reader.push(piece);
  return seen;
}

describe('EventReader', () => {
  it('gives the data of each whole event, however the stream is cut', () => {
    const stream = ': hello\n\nevent: tick\ndata: {"a":1}\n\ndata: one\ndata: two\r\n\r\ndata:three\n\ndata: not yet\n';
    const whole = read(stream);
    expect(whole).toEqual(['{"a":1}', 'one\ntwo', 'three']);
    for (let at = 0; at <= stream.length; at += 1) expect(read(stream.slice(0, at), stream.slice(at))).toEqual(whole);
  });
  it('gives up on an event without an end', () => {
    expect(() => read('data: ' + 'x'.repeat(kLongestEvent))).toThrow('too long');
    expect(() => read(...Array.from({ length: 5 }, () => `data: ${'x'.repeat(kLongestEvent / 4)}\n`))).toThrow(
      'too long',
    );
  });
});
