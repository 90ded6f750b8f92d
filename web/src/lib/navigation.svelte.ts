// The address bar as state. Links are ordinary <a href>; a click on one of ours changes the view without a new page.
import { href, parse, type Parameters, type Route } from './router';

class Here {
  route = $state.raw<Route>(parse(location.pathname, location.search));
  /** Grows with each step to another view, not with a change of parameters: focus and scrolling follow it. */
  visits = $state(0);
}

export const here = new Here();

function arrive(): void {
  const before = here.route;
  const now = parse(location.pathname, location.search);
  const moved = pathOf(before) !== pathOf(now);
  here.route = now;
  if (moved) here.visits += 1;
}

const pathOf = (route: Route): string => JSON.stringify({ ...route, query: null, tab: null });

/** Goes to an address of ours. `replace` leaves no step behind for the back button: for typing, zooming and dragging. */
export function go(address: string, options: { replace?: boolean } = {}): void {
  if (address === location.pathname + location.search) return;
  if (options.replace === true) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  arrive();
}

/** Changes parameters of the present address and keeps the others; null or '' takes one away. */
export function setQuery(changes: Parameters, options: { replace?: boolean } = { replace: true }): void {
  go(withQuery(changes), options);
}

/** The present address with some parameters changed: for links to another tab. */
export function withQuery(changes: Parameters): string {
  const places = location.pathname.split('/').filter((text) => text !== '');
  return href(places.map(decoded), { ...here.route.query, ...changes });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Follows the back button and clicks on links. Returns what stops it. */
export function follow(): () => void {
  const onClick = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin || url.pathname.startsWith('/api/') || url.pathname === '/metrics') return;
    if (url.hash !== '' && url.pathname === location.pathname) return;
    event.preventDefault();
    go(url.pathname + url.search);
  };
  addEventListener('popstate', arrive);
  document.addEventListener('click', onClick);
  return () => {
    removeEventListener('popstate', arrive);
    document.removeEventListener('click', onClick);
  };
}
