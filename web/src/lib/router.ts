// Which view an address means, and the address of each view. Pure; navigation.svelte.ts is what follows the browser.

export type Query = Readonly<Record<string, string>>;

export type Route =
  | { view: 'topics'; query: Query }
  | { view: 'topic'; topic: string; query: Query }
  | { view: 'partition'; topic: string; partition: number; tab: string; query: Query }
  | { view: 'groups'; query: Query }
  | { view: 'group'; group: string; query: Query }
  | { view: 'demos'; query: Query }
  | { view: 'demo'; name: string; query: Query }
  | { view: 'about'; query: Query }
  | { view: 'unknown'; path: string; query: Query };

/** `path` and `search` as location has them. An address that means nothing gives `unknown`, never an error. */
export function parse(path: string, search: string): Route {
  const query: Record<string, string> = Object.fromEntries(new URLSearchParams(search));
  const unknown: Route = { view: 'unknown', path, query };
  const parts: string[] = [];
  for (const part of path.split('/').filter((text) => text !== '')) {
    try {
      parts.push(decodeURIComponent(part));
    } catch {
      return unknown;
    }
  }
  const [first, second, third, ...rest] = parts;
  if (rest.length > 0) return unknown;
  switch (first) {
    case undefined:
      return { view: 'topics', query };
    case 'topics':
      if (second === undefined) return { view: 'topics', query };
      if (third === undefined) return { view: 'topic', topic: second, query };
      if (!/^\d{1,9}$/.test(third)) return unknown;
      return { view: 'partition', topic: second, partition: Number(third), tab: query['tab'] ?? '', query };
    case 'groups':
      if (third !== undefined) return unknown;
      return second === undefined ? { view: 'groups', query } : { view: 'group', group: second, query };
    case 'demos':
      if (third !== undefined) return unknown;
      return second === undefined ? { view: 'demos', query } : { view: 'demo', name: second, query };
    case 'about':
      return second === undefined ? { view: 'about', query } : unknown;
    default:
      return unknown;
  }
}

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The address of a view: `href(['topics', topic, partition], { tab: 'files' })`. Empty parameters are left out. */
export function href(places: readonly (string | number)[], parameters: Parameters = {}): string {
  const path = '/' + places.map((place) => encodeURIComponent(String(place))).join('/');
  const rest = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) rest.set(name, String(value));
  }
  const text = rest.toString();
  return text === '' ? path : `${path}?${text}`;
}
