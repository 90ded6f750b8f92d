import { describe, expect, it } from 'vitest';
import * as format from './format';

describe('format', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1,000'],
    [1234567.4, '1,234,567'],
    ['9223372036854775807', '9,223,372,036,854,775,807'],
    ['-1500', '−1,500'],
    [null, '–'],
  ])('count %s', (value, text) => {
    expect(format.count(value)).toBe(text);
  });
  it('an offset of -1 stays as Kafka writes it', () => {
    expect(format.offset('-1')).toBe('-1');
    expect(format.offset('9007199254740993')).toBe('9,007,199,254,740,993');
  });
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1023, '1,023 B'],
    [1024, '1.00 KiB'],
    [10234, '9.99 KiB'],
    [10240, '10.0 KiB'],
    [1048575, '1.00 MiB'],
    [1073741824, '1.00 GiB'],
    [53687091200, '50.0 GiB'],
    [-2048, '−2.00 KiB'],
  ])('bytes %s', (value, text) => {
    expect(format.bytes(value)).toBe(text);
  });
  it.each([
    ['0', '0'],
    ['1,234', '1234'],
    [' 12_345 ', '12345'],
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775808', null],
    ['007', '7'],
    ['-1', null],
    ['1.5', null],
    ['', null],
    ['0x10', null],
  ])('parseOffset %s', (text, value) => {
    expect(format.parseOffset(text)).toBe(value);
  });
  it('parseTime takes milliseconds, and dates with or without a zone', () => {
    expect(format.parseTime('1700000000000')).toBe(1700000000000);
    expect(format.parseTime('2023-11-14T22:13:20Z')).toBe(1700000000000);
    expect(format.parseTime('2023-11-14 23:13:20.5+0100')).toBe(1700000000500);
    expect(format.parseTime('2023-11-14 23:13')).toBe(new Date(2023, 10, 14, 23, 13).getTime());
    expect(format.parseTime('2023-13-14')).toBeNull();
    expect(format.parseTime('yesterday')).toBeNull();
    expect(format.parseTime('')).toBeNull();
  });
  it('what time gives, parseTime takes', () => {
    const now = 1700000000123;
    expect(format.parseTime(format.time(now))).toBe(now);
    expect(format.utc(now)).toBe('2023-11-14T22:13:20.123Z');
    expect(format.time(Number.MAX_SAFE_INTEGER)).toBe('9007199254740991 ms');
  });
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1 s'],
    [1500, '1.5 s'],
    [12_500, '12 s'],
    [60_000, '1 min'],
    [200_000, '3 min 20 s'],
    [3_600_000, '1 h'],
    [604_800_000, '7 d'],
    [187_200_000, '2 d 4 h'],
    [-60_000, '−1 min'],
  ])('duration %s', (ms, text) => {
    expect(format.duration(ms)).toBe(text);
  });
  it('ago looks both ways', () => {
    expect(format.ago(1000, 4_000)).toBe('3 s ago');
    expect(format.ago(61_000, 1000)).toBe('in 1 min');
    expect(format.ago(1000, 1500)).toBe('now');
  });
  it('says what a setting comes to', () => {
    expect(format.settingMeans('retention.ms', '604800000')).toBe('7 d');
    expect(format.settingMeans('retention.bytes', '-1')).toBe('no limit');
    expect(format.settingMeans('segment.bytes', '1073741824')).toBe('1.00 GiB');
    expect(format.settingMeans('flush.ms', '9223372036854775807')).toBe('never');
    expect(format.settingMeans('cleanup.policy', 'delete')).toBeNull();
    expect(format.settingMeans('min.insync.replicas', '1')).toBeNull();
  });
  it('counts with words', () => {
    expect(format.plural(1, 'record')).toBe('1 record');
    expect(format.plural('2000', 'record')).toBe('2,000 records');
    expect(format.plural(0n, 'entry', 'entries')).toBe('0 entries');
  });
  it('rates and shares', () => {
    expect(format.perSecond(0)).toBe('0/s');
    expect(format.perSecond(0.25)).toBe('0.3/s');
    expect(format.perSecond(12345)).toBe('12,345/s');
    expect(format.percent(0.5)).toBe('50 %');
    expect(format.percent(0.012)).toBe('1.2 %');
    expect(format.percent(Number.NaN)).toBe('–');
  });
  it('longs are compared and subtracted exactly', () => {
    expect(format.compareLongs('9007199254740993', '9007199254740992')).toBe(1);
    expect(format.minus('9007199254740993', '9007199254740992')).toBe(1n);
  });
});
