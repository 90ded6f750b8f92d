// The visual grammar: what has a colour of its own, with the second sign for those who see no colour.
// Colours are the custom properties --NAME, --NAME-ink and --NAME-soft of styles/tokens.css.

export type Kind = 'active' | 'closed' | 'going' | 'deleted' | 'tombstone' | 'control' | 'aborted' | 'damaged';

export interface Sign {
  /** One word for labels. */
  label: string;
  /** How drawings fill it, besides the colour. */
  pattern: 'solid' | 'open' | 'hatched' | 'outline' | 'crossed' | 'dotted' | 'struck' | 'jagged';
  /** A path in a box of 12 by 12, drawn with stroke and no fill, for badges and for cells too small for a pattern. */
  path: string;
  says: string;
}

export const grammar: Readonly<Record<Kind, Sign>> = {
  active: {
    label: 'active',
    pattern: 'open',
    path: 'M2 3H8M2 9H8M2 3V9M7 6H11M9 4L11 6L9 8',
    says: 'The segment that is appended to. Its right end is open.',
  },
  closed: {
    label: 'closed',
    pattern: 'solid',
    path: 'M2 3H10V9H2Z',
    says: 'A segment that was rolled; only retention or the cleaner change it.',
  },
  going: {
    label: 'going soon',
    pattern: 'hatched',
    path: 'M2 3H10V9H2ZM3 9L7 3M6 9L10 3.5',
    says: 'The next check of retention removes it.',
  },
  deleted: {
    label: 'deleted',
    pattern: 'outline',
    path: 'M2 3H4M6 3H8M10 3V5M10 7V9M8 9H6M4 9H2M2 7V5',
    says: 'Removed, or waiting for file.delete.delay.ms in a file that ends in .deleted.',
  },
  tombstone: {
    label: 'tombstone',
    pattern: 'crossed',
    path: 'M6 1.5V10.5M3 4.5H9',
    says: 'A key without a value: compaction removes the key.',
  },
  control: {
    label: 'control',
    pattern: 'dotted',
    path: 'M6 1.5L10.5 6L6 10.5L1.5 6Z',
    says: 'A marker of the transaction coordinator; no application reads it.',
  },
  aborted: {
    label: 'aborted',
    pattern: 'struck',
    path: 'M6 1.5A4.5 4.5 0 1 1 5.99 1.5M2.8 2.8L9.2 9.2',
    says: 'Of an aborted transaction: a read_committed reader never sees it.',
  },
  damaged: {
    label: 'damaged',
    pattern: 'jagged',
    path: 'M1 8L3.5 4L6 8L8.5 4L11 8',
    says: 'Bytes that are not what was written.',
  },
};
