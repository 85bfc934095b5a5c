/** When a failed call is tried again, and after which pause. A write is never done twice without knowing. */
import { exponentialDelay } from "./backoff.ts";
import type { KubeError } from "./types.ts";

/**
 * How a call may be repeated: `read` always; `write` (an update or delete guarded by a revision, a patch) only when the
 * server says it did not process it; `create` only when throttled or surely not sent.
 */
export type Repeat = "read" | "write" | "create";

const MAX_ATTEMPTS = 6;
const PAUSE = { baseMs: 100, maxMs: 5_000 };

/** Whether to try again after `attempts` attempts that ended in `error`. `notSent`: the request never left. */
export function mayRepeat(repeat: Repeat, error: KubeError, notSent: boolean, attempts: number): boolean {
  if (attempts >= MAX_ATTEMPTS) return false;
  if (error.code === "Unavailable") return notSent || repeat === "read";
  if (error.status === 429) return true;
  if (error.code !== "ServerError") return false;
  return repeat === "read" || (repeat === "write" && error.status === 503 && error.retryAfterSeconds !== undefined);
}

/** Milliseconds to wait: what the server asks for, otherwise exponential; jittered upwards or between half and whole. */
export function pauseMs(error: KubeError, attempts: number, random: () => number = Math.random): number {
  if (error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1000 + random() * PAUSE.baseMs;
  return exponentialDelay(attempts - 1, PAUSE) * (0.5 + random() / 2);
}
