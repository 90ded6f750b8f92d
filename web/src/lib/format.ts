// How numbers look, everywhere alike. A Long is a 64 bit number as text and is never made a JavaScript number to be shown.
import type { Long } from './api';

/** What stands where a number is not known. */
export const kUnknown = '–';

/** 1234567 -> "1,234,567". Takes Longs as they are. */
export function count(value: number | Long | bigint | null | undefined): string {
  if (value === null || value === undefined) return kUnknown;
  const text = typeof value === 'number' ? String(Math.round(value)) : String(value);
  if (!/^-?\d+$/.test(text)) return text;
  const sign = text.startsWith('-') ? '−' : '';
  return sign + text.replace('-', '').replace(/\B(?=(\d{3})+$)/g, ',');
}

/** An offset: as a count, but -1 stays what Kafka writes. */
export const offset = (value: Long | bigint | null | undefined): string => (value === '-1' ? '-1' : count(value));

/** What a person typed as an offset; null when it is none. Commas, spaces and underscores may group the digits. */
export function parseOffset(text: string): Long | null {
  const digits = text.replace(/[\s,_]/g, '');
  if (!/^\d{1,19}$/.test(digits)) return null;
  const value = BigInt(digits);
  return value <= 9223372036854775807n ? value.toString() : null;
}

/** What a person typed as a time: milliseconds since 1970, or a date and time, local unless it names a zone. */
export function parseTime(text: string): number | null {
  const trimmed = text.trim();
  if (/^\d{5,16}$/.test(trimmed)) return Number(trimmed);
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(
    trimmed,
  );
  if (match === null) return null;
  const [, year, month, day, hours, minutes, seconds, fraction, zone] = match;
  const iso =
    `${year}-${month}-${day}T${hours ?? '00'}:${minutes ?? '00'}:${seconds ?? '00'}.${(fraction ?? '0').padEnd(3, '0')}` +
    (zone === undefined ? '' : zone.toUpperCase());
  const value = new Date(iso).getTime();
  return Number.isNaN(value) ? null : value;
}

export const compareLongs = (a: Long, b: Long): number => {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

/** a - b. */
export const minus = (a: Long, b: Long): bigint => BigInt(a) - BigInt(b);

const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** 1536 -> "1.50 KiB": three digits in powers of 1024, as Kafka's settings count; below that the bytes themselves. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return kUnknown;
  let unit = 0;
  let size = Math.abs(value);
  while (unit < kUnits.length - 1 && size >= (unit === 0 ? 1024 : 999.5)) {
    size /= 1024;
    unit += 1;
  }
  const sign = value < 0 ? '−' : '';
  const digits = unit === 0 ? count(size) : size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
  return `${sign}${digits} ${kUnits[unit]}`;
}

/** "1,536 bytes". */
export const exactBytes = (value: number): string => plural(value, 'byte');

export const bytesPerSecond = (value: number | null | undefined): string =>
  value === null || value === undefined ? kUnknown : `${bytes(value)}/s`;

export function perSecond(value: number | null | undefined): string {
  if (value === null || value === undefined) return kUnknown;
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : count(value)}/s`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return kUnknown;
  const value = share * 100;
  return `${value !== 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/** "1 record", "2,000 records". */
export const plural = (value: number | Long | bigint, one: string, many = `${one}s`): string =>
  `${count(value)} ${String(value) === '1' ? one : many}`;

const two = (value: number): string => String(value).padStart(2, '0');

/** "2026-11-30 22:43:17.123" in the zone of whoever reads. */
export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return kUnknown;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
  );
}

/** The same without the milliseconds. */
export const timeToSeconds = (ms: number | null | undefined): string => time(ms).replace(/\.\d{3}$/, '');

/** "2026-11-30T22:43:17.123Z", for tips beside the local time. */
export function utc(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

const kParts = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** How long: "450 ms", "12.5 s", "3 min 20 s", "2 d 4 h", "7 d". Two parts at most. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return kUnknown;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) {
    const seconds = Math.floor(ms / 100) / 10;
    return `${Number.isInteger(seconds) || seconds >= 10 ? Math.floor(seconds) : seconds} s`;
  }
  for (let at = 0; at < kParts.length - 1; at += 1) {
    const [name, size] = kParts[at] ?? ['s', 1000];
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const [smallName, smallSize] = kParts[at + 1] ?? ['s', 1000];
    const rest = Math.floor((ms - whole * size) / smallSize);
    return rest === 0 || whole >= 100 ? `${count(whole)} ${name}` : `${count(whole)} ${name} ${rest} ${smallName}`;
  }
  return `${ms} ms`;
}

/** "3 h ago", "in 20 min". */
export function ago(ms: number | null | undefined, nowMs: number): string {
  if (ms === null || ms === undefined) return kUnknown;
  const passed = nowMs - ms;
  if (Math.abs(passed) < 1000) return 'now';
  return passed > 0 ? `${duration(passed)} ago` : `in ${duration(-passed)}`;
}

/** A setting's value with what it comes to: "604800000" -> "7 d". Null where the digits say all. */
export function settingMeans(name: string, value: string): string | null {
  if (!/^-?\d+$/.test(value)) return null;
  const number = Number(value);
  if (number === -1 && /^(local\.)?retention\.|^log\.retention/.test(name)) return 'no limit';
  if (number >= 9223372036854775000) return 'never';
  if (name.endsWith('.ms')) return number < 1000 ? null : duration(number);
  if (name.endsWith('.bytes')) return number < 1024 ? null : bytes(number);
  return null;
}
