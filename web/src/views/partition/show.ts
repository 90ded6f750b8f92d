// Bytes and JSON as lines of text.

/** 16 bytes a line: where, the bytes, and what of them is ASCII. */
export function hexLines(hex: string, from = 0): string {
  const lines: string[] = [];
  for (let at = 0; at < hex.length; at += 32) {
    const part = hex.slice(at, at + 32);
    const pairs = part.match(/../g) ?? [];
    const text = pairs.map((pair) => readable(pair)).join('');
    const place = (from + at / 2).toString(16).padStart(4, '0');
    lines.push(`${place}  ${pairs.slice(0, 8).join(' ').padEnd(23)}  ${pairs.slice(8).join(' ').padEnd(23)}  ${text}`);
  }
  return lines.join('\n');
}

export function readable(pair: string): string {
  const code = parseInt(pair, 16);
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '·';
}

/**
 * Indents JSON without reading its numbers: they are copied as they stand, so that large ones keep all their digits. What is not JSON
 * comes back as it is.
 */
export function prettyJson(text: string): string {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return text;
  let out = '';
  let depth = 0;
  let inside = false;
  for (let i = 0; i < trimmed.length; i += 1) {
    const c = trimmed[i] as string;
    if (inside) {
      out += c;
      if (c === '\\') {
        out += trimmed[i + 1] ?? '';
        i += 1;
      } else if (c === '"') inside = false;
      continue;
    }
    if (c === '"') {
      inside = true;
      out += c;
    } else if (c === '{' || c === '[') {
      const close = c === '{' ? '}' : ']';
      let next = i + 1;
      while (/\s/.test(trimmed[next] ?? '')) next += 1;
      if (trimmed[next] === close) {
        out += c + close;
        i = next;
      } else {
        depth += 1;
        out += `${c}\n${'  '.repeat(Math.min(depth, 40))}`;
      }
    } else if (c === '}' || c === ']') {
      depth = Math.max(0, depth - 1);
      out += `\n${'  '.repeat(Math.min(depth, 40))}${c}`;
    } else if (c === ',') out += `,\n${'  '.repeat(Math.min(depth, 40))}`;
    else if (c === ':') out += ': ';
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}
