// Whose data is shown, and what time it is there.
import * as api from './api';
import { ApiError } from './http';
import { live } from './live.svelte';

class Subject {
  value = $state.raw<api.About | null>(null);
  error = $state.raw<ApiError | null>(null);
  /** The inspector's clock minus this machine's. */
  skewMs = $state(0);

  async load(): Promise<void> {
    try {
      const about = await api.about();
      this.skewMs = about.now_ms - Date.now();
      this.value = about;
      this.error = null;
      if (about.mode === 'broker') live.start();
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(0, String(error));
    }
  }

  get actions(): boolean {
    return this.value?.actions ?? false;
  }
  get isBroker(): boolean {
    return this.value?.mode === 'broker';
  }
}

export const subject = new Subject();

/** The time where the data is, to the second: for ages and countdowns. */
class Clock {
  now = $state(Date.now());
  #timer: ReturnType<typeof setInterval> | undefined;

  start(): () => void {
    this.#timer = setInterval(() => {
      if (!document.hidden && live.state !== 'paused') this.now = Date.now() + subject.skewMs;
    }, 1000);
    return () => {
      clearInterval(this.#timer);
    };
  }
}

export const clock = new Clock();
