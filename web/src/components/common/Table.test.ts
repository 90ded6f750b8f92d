import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { createRawSnippet } from 'svelte';
import { expect, it, vi } from 'vitest';
import Table from './Table.svelte';

interface Row {
  name: string;
}

// Writes a cell as text, as the views do.
const cell = createRawSnippet<[Row, string]>((row, id) => ({
  render: () => '<span></span>',
  setup: (element) => {
    element.textContent = `${id()} ${row().name}`;
  },
}));

function show(total: number, more: Record<string, unknown> = {}): void {
  Element.prototype.getAnimations ??= () => [];
  window.scrollBy = vi.fn() as unknown as typeof window.scrollBy;
  render(Table<Row>, {
    label: 'Things',
    columns: [
      { id: 'a', label: 'A', from: 'the file' },
      { id: 'b', label: 'B', number: true, sorts: true },
    ],
    total,
    row: (index: number) => ({ name: `<b>${index}</b>` }),
    key: (row: Row) => row.name,
    cell,
    ...more,
  });
}

const focused = (): string | null => document.activeElement?.getAttribute('data-cell') ?? null;

it('ten thousand rows are not ten thousand elements, but their number is said', () => {
  show(10_000);
  expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe('10001');
  expect(document.querySelectorAll('tbody tr').length).toBeLessThan(120);
});

it('contents are text', () => {
  show(3);
  expect(document.querySelector('tbody b')).toBeNull();
  expect(screen.getByText('a <b>0</b>')).toBeTruthy();
});

it('arrow keys go from cell to cell, and there is one stop for Tab', async () => {
  show(50);
  const stops = (): Element[] => [...document.querySelectorAll('td[tabindex="0"]')];
  expect(stops()).toHaveLength(1);
  const first = stops()[0] as HTMLElement;
  first.focus();
  expect(focused()).toBe('0-0');
  await fireEvent.keyDown(first, { key: 'ArrowDown' });
  await vi.waitFor(() => expect(focused()).toBe('1-0'));
  await fireEvent.keyDown(document.activeElement ?? first, { key: 'ArrowRight' });
  await vi.waitFor(() => expect(focused()).toBe('1-1'));
  await fireEvent.keyDown(document.activeElement ?? first, { key: 'ArrowRight' });
  await vi.waitFor(() => expect(focused()).toBe('1-1'));
  expect(stops()).toHaveLength(1);
});

it('Enter and a click open the row', async () => {
  history.replaceState(null, '', '/');
  show(5, { open: (row: Row) => `/groups/${encodeURIComponent(row.name)}` });
  const start = document.querySelector('td[tabindex="0"]') as HTMLElement;
  start.focus();
  await fireEvent.keyDown(start, { key: 'Enter' });
  expect(decodeURIComponent(location.pathname)).toBe('/groups/<b>0</b>');
  await fireEvent.click(document.querySelector('[data-cell="2-1"]') as HTMLElement);
  expect(decodeURIComponent(location.pathname)).toBe('/groups/<b>2</b>');
});

it('says which rows are in sight, which column sorts, and where numbers are from', async () => {
  const onneed = vi.fn();
  const onsort = vi.fn();
  show(1000, {
    onneed,
    onsort,
    sort: { id: 'b', descending: true },
    cellFrom: (row: Row, id: string) => (id === 'b' ? `field b of ${row.name}` : undefined),
  });
  expect(onneed).toHaveBeenCalled();
  expect(onneed.mock.lastCall?.[0]).toBe(0);
  expect(document.querySelector('th[aria-sort]')?.getAttribute('aria-sort')).toBe('descending');
  await fireEvent.click(screen.getByRole('button', { name: /^B/ }));
  expect(onsort).toHaveBeenCalledWith('b');
  expect(document.querySelector('[data-cell="0-0"]')?.getAttribute('data-from')).toBe('the file');
  expect(document.querySelector('[data-cell="0-1"]')?.getAttribute('data-from')).toBe('field b of <b>0</b>');
});

it('rows that have not arrived have a place, and none at all are told', () => {
  show(5, { row: () => undefined });
  expect(screen.getAllByText('…')).toHaveLength(5);
  cleanup();
  show(0, { empty: 'There are none.' });
  expect(screen.getByText('There are none.')).toBeTruthy();
});
