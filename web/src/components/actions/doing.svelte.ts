// One action in a dialog: asked once, answered in words.
import type { Done } from '../../lib/api';
import { ApiError } from '../../lib/http';

export class Doing {
  busy = $state(false);
  done = $state.raw<Done | null>(null);
  error = $state.raw<ApiError | null>(null);

  async run(ask: () => Promise<Done>): Promise<boolean> {
    this.busy = true;
    this.error = null;
    this.done = null;
    try {
      this.done = await ask();
      return true;
    } catch (reason) {
      this.error = reason instanceof ApiError ? reason : new ApiError(0, String(reason));
      return false;
    } finally {
      this.busy = false;
    }
  }
}
