/** A token bucket: `burst` calls at once, `qps` a second after that. Callers wait in the order they came. */
import { sleep } from "./backoff.ts";

export interface RateLimitOptions {
  readonly qps: number;
  readonly burst: number;
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number;
}

export interface RateLimiter {
  /** Resolves when the caller may go on, or when `signal` aborts: the caller looks at the signal. */
  take(signal: AbortSignal): Promise<void>;
}

/** Makes a full bucket. */
export function createRateLimiter(options: RateLimitOptions): RateLimiter {
  const reserve = createReservations(options);
  return {
    async take(signal) {
      const waitMs = reserve();
      if (waitMs > 0) await sleep(waitMs, signal);
    },
  };
}

/** The arithmetic alone: each call takes a token, which may come due later, and returns the milliseconds until then. */
export function createReservations(options: RateLimitOptions): () => number {
  const { qps, burst, now = () => performance.now() } = options;
  if (!(qps > 0) || !(burst >= 1)) {
    throw new RangeError(`qps must be above 0 and burst at least 1, got qps ${qps} and burst ${burst}`);
  }
  let tokens = burst;
  let last = now();
  return () => {
    const time = now();
    tokens = Math.min(burst, tokens + ((time - last) / 1000) * qps) - 1;
    last = time;
    return tokens >= 0 ? 0 : (-tokens / qps) * 1000;
  };
}
