// The token that an inspector demands away from loopback. It lives as long as the tab, and nowhere but here.
const kKey = 'cordwood.token';

class Session {
  token = $state<string | null>(read());
  /** A request was refused for want of the right token: the page asks for it. */
  refused = $state(false);
  /** Grows with each token, and when the inspector is there again: views that failed ask again. */
  round = $state(0);

  refuse(): void {
    this.refused = true;
  }

  askAgain(): void {
    this.round += 1;
  }

  accept(token: string): void {
    this.token = token;
    this.refused = false;
    this.askAgain();
    try {
      sessionStorage.setItem(kKey, token);
    } catch {
      // No storage: it holds until the page is left.
    }
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(kKey);
  } catch {
    return null;
  }
}

export const session = new Session();
