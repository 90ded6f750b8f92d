// The colours a canvas of ours needs, by the names of their custom properties.
export const paletteNames = [
  'ink',
  'ink-3',
  'line',
  'line-strong',
  'ground',
  'ground-3',
  'link',
  'focus',
  'active',
  'closed',
  'going',
  'deleted',
  'tombstone',
  'control',
  'aborted',
  'damaged',
] as const;

export type Palette = Record<(typeof paletteNames)[number], string>;
