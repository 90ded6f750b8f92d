// Asking again from time to time, while somebody looks: for what is not in the live stream.
import { subject } from './about.svelte';
import { live } from './live.svelte';

/** Calls `again` each `ms` while a broker is behind the page, the tab is seen and the page is not paused. For a component's start. */
export function every(ms: number, again: () => void): void {
  $effect(() => {
    if (!subject.isBroker) return;
    const timer = setInterval(() => {
      if (!document.hidden && live.state === 'live') again();
    }, ms);
    return () => {
      clearInterval(timer);
    };
  });
}
