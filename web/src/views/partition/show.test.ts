import { describe, expect, it } from 'vitest';
import { hexLines, prettyJson } from './show';

describe('hex', () => {
  it('has 16 bytes a line with their text', () => {
    const hex = '48656c6c6f2c20776f726c642100ff0a41';
    expect(hexLines(hex).split('\n')).toEqual([
      '0000  48 65 6c 6c 6f 2c 20 77  6f 72 6c 64 21 00 ff 0a  Hello, world!···',
      '0010  41                                                A',
    ]);
    expect(hexLines('')).toBe('');
  });
});

describe('JSON', () => {
  it('keeps every digit', () => {
    expect(prettyJson('{"a":9007199254740993,"b":[1,{}],"c":"x,{}\\""}')).toBe(
      '{\n  "a": 9007199254740993,\n  "b": [\n    1,\n    {}\n  ],\n  "c": "x,{}\\""\n}',
    );
  });
  it('leaves alone what is none', () => {
    expect(prettyJson('hello: world, {')).toBe('hello: world, {');
    expect(prettyJson('12')).toBe('12');
  });
});
