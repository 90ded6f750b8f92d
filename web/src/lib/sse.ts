// Server-sent events out of a stream of text. EventSource cannot send a token nor tell 401 from a lost connection; fetch can.

/** What an inspector's tick may be at most; anything longer is not ours. */
export const kLongestEvent = 4 * 1024 * 1024;

/** Puts pieces of a stream together and calls `onData` with the data of each whole event. Throws when one is too long. */
export class EventReader {
  private held = '';
  private data: string[] = [];
  private size = 0;

  constructor(private readonly onData: (data: string) => void) {}

  push(text: string): void {
    this.held += text;
    let from = 0;
    for (;;) {
      const end = this.held.indexOf('\n', from);
      if (end < 0) break;
      const line = this.held.slice(from, this.held[end - 1] === '\r' && end > from ? end - 1 : end);
      from = end + 1;
      this.line(line);
    }
    this.held = this.held.slice(from);
    if (this.held.length + this.size > kLongestEvent) throw new Error('an event is too long');
  }

  private line(line: string): void {
    if (line === '') {
      if (this.data.length > 0) this.onData(this.data.join('\n'));
      this.data = [];
      this.size = 0;
    } else if (line.startsWith('data:')) {
      const value = line.slice(line[5] === ' ' ? 6 : 5);
      this.data.push(value);
      this.size += value.length;
    }
  }
}
