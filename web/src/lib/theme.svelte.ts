// The system's theme, or the one that was chosen. public/theme.js applies what is remembered before the first paint.
export type Theme = 'system' | 'light' | 'dark';
const kKey = 'cordwood.theme';

class ThemeChoice {
  now = $state<Theme>(remembered());

  choose(theme: Theme): void {
    this.now = theme;
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    try {
      if (theme === 'system') localStorage.removeItem(kKey);
      else localStorage.setItem(kKey, theme);
    } catch {
      // No storage: it holds until the page is left.
    }
  }
}

function remembered(): Theme {
  try {
    const value = localStorage.getItem(kKey);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

export const theme = new ThemeChoice();

/** Colours as the page has them now, for canvases: reads custom properties, resolved. Ask again when `themeRound` changes. */
export function colours<Name extends string>(names: readonly Name[]): Record<Name, string> {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const found = {} as Record<Name, string>;
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

class Round {
  /** Grows when colours change: by choice or because the system went dark. */
  value = $state(0);

  constructor() {
    if (typeof matchMedia !== 'function') return;
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (this.value += 1));
    new MutationObserver(() => (this.value += 1)).observe(document.documentElement, {
      attributeFilter: ['data-theme'],
    });
  }
}

export const themeRound = new Round();
