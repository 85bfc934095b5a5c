/** Owns background tasks: a failure that a task does not handle itself is reported, and the task starts again after a pause. */
import type { Logger } from "pino";
import { type BackoffOptions, createBackoff, sleep } from "./backoff.ts";

/** Names in logs and metrics. `unowned` is a promise that nothing in this program awaits: a fault. */
export const BACKGROUND_TASKS = [
  "caches",
  "controllers",
  "discovery",
  "events",
  "leases",
  "manifests",
  "metrics",
  "reflectors",
  "unowned",
] as const;
export type BackgroundTask = (typeof BACKGROUND_TASKS)[number];

export interface TaskFailure {
  readonly task: BackgroundTask;
  /** What failed; follows "Failed to". */
  readonly what: string;
  readonly error: unknown;
  /** What happens next. Default: it is tried again. */
  readonly next?: string;
}

/** Reports a failure. If it throws, the task starts again all the same. */
export type OnTaskFailure = (failure: TaskFailure) => void;

export interface TaskOptions {
  readonly task: BackgroundTask;
  /** See {@link TaskFailure}. */
  readonly what: string;
  /** The task does not start again after it, and failures are not reported. */
  readonly signal: AbortSignal;
  readonly onFailure: OnTaskFailure;
  /** Default 0.8 s doubling to 30 s. */
  readonly backoff?: BackoffOptions | undefined;
  /** Whether to start again after a failure. Default: always. */
  readonly isWanted?: () => boolean;
}

const BACKOFF: BackoffOptions = { baseMs: 800, maxMs: 30_000 };

/** Runs `work` now, and again after each failure. Resolves when it has ended without one, or `signal` aborted; never rejects. */
export async function runTask(options: TaskOptions, work: () => void | Promise<void>): Promise<void> {
  const { task, what, signal, onFailure, backoff = BACKOFF, isWanted = () => true } = options;
  const pauses = createBackoff(backoff);
  do {
    const startedAt = performance.now();
    try {
      await work();
      return;
    } catch (error) {
      if (signal.aborted) return;
      reportFailure(onFailure, { task, what, error });
    }
    if (performance.now() - startedAt >= backoff.maxMs) pauses.reset();
    await sleep(pauses.next(), signal);
  } while (isWanted() && !signal.aborted);
}

/** {@link runTask} for who does not wait for its end. */
export function startTask(options: TaskOptions, work: () => void | Promise<void>): void {
  const { task, what, onFailure } = options;
  runTask(options, work).catch((error: unknown) => reportFailure(onFailure, { task, what, error, next: "for good" }));
}

/** A report that fails, such as a log line for a full disk, must not end the task. */
export function reportFailure(onFailure: OnTaskFailure, failure: TaskFailure): void {
  try {
    onFailure(failure);
  } catch {
    // Nothing is left to report it to.
  }
}

/** Reports to the log. */
export function logTaskFailure(log: Logger): OnTaskFailure {
  return ({ task, what, error, next = "trying again" }) => {
    const stacktrace = error instanceof Error ? error.stack : undefined;
    log.error({ task, err: error, stacktrace }, `Failed to ${what}, ${next}`);
  };
}

/** Starts work at once and returns. Of two calls of the same `what` only the later one is tried again. */
export type RunInBackground = (what: string, work: () => void | Promise<void>) => void;

/** Tasks of one name that come and go. */
export function createBackground(options: Omit<TaskOptions, "what" | "isWanted">): RunInBackground {
  const latest = new Map<string, symbol>();
  return (what, work) => {
    const id = Symbol(what);
    latest.set(what, id);
    const isWanted = () => latest.get(what) === id;
    const forget = () => {
      if (isWanted()) latest.delete(what);
    };
    runTask({ ...options, what, isWanted }, work).then(forget, forget);
  };
}
