/** Waiting between attempts: exponential delays with jitter, and a sleep that an AbortSignal ends. Randomness is an argument. */

/** How long to wait between attempts. */
export interface BackoffOptions {
  /** The first delay, in milliseconds. */
  readonly baseMs: number;
  /** The longest, in milliseconds. */
  readonly maxMs: number;
  /** From 0 to below 1. Default Math.random. */
  readonly random?: (() => number) | undefined;
}

/** One series of delays that grows with each failure. */
export interface Backoff {
  /** The next delay in milliseconds, between half of and the whole exponential value. */
  next(): number;
  /** Starts the series again: the thing waited for has worked. */
  reset(): void;
}

/** `baseMs` doubled `failures` times, at most `maxMs`. */
export function exponentialDelay(failures: number, { baseMs, maxMs }: BackoffOptions): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/** Makes a series whose half is jitter: clients that lost one server together do not come back together. */
export function createBackoff(options: BackoffOptions): Backoff {
  const { random = Math.random } = options;
  let failures = 0;
  return {
    next: () => exponentialDelay(failures++, options) * (0.5 + random() / 2),
    reset: () => {
      failures = 0;
    },
  };
}

/** Resolves after `milliseconds`, or at once when `signal` aborts; the caller looks at the signal. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}
