/**
 * Work queue of keys, as in client-go: a key waits at most once, is never worked on twice at once, and one added
 * while it is worked on runs again afterwards.
 */
import { exponentialDelay } from "./backoff.ts";

/** Longest delay a timer can hold. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Hears what happens in the queue; seconds as in controller-runtime's `workqueue_*` metrics. */
export interface QueueMetrics {
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** A key was taken after it had waited this long. */
  taken(waitedSeconds: number): void;
  /** Work on a key ended after this long. */
  finished(workedSeconds: number): void;
}

export interface QueueOptions {
  /** First delay of {@link WorkQueue.addRateLimited}. Default 5 ms. */
  readonly baseMs?: number;
  /** Longest delay of {@link WorkQueue.addRateLimited}. Default 1000 s. */
  readonly maxMs?: number;
  readonly metrics?: QueueMetrics;
}

export interface WorkQueue {
  readonly depth: number;
  /** Adds now; a delayed adding of the same key is thereby done. */
  add(key: string): void;
  /** Adds after a delay; of several delays of one key the earliest counts. */
  addAfter(key: string, milliseconds: number): void;
  /** Adds after a delay that doubles with every call for this key until {@link WorkQueue.forget}. */
  addRateLimited(key: string): void;
  /** The key has worked: its rate limit starts anew. */
  forget(key: string): void;
  /** The next key, which the caller must give back by {@link WorkQueue.done}; undefined when shut down. */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Seconds that the work under way has taken so far, in sum and for the oldest: for gauges, read on scrape. */
  inProgress(): { readonly unfinishedSeconds: number; readonly longestSeconds: number };
  /** Hands out no more keys and drops those that wait: who shuts down may no longer be the leader. */
  shutDown(): void;
  /** Resolves when no key is worked on any more. */
  drain(): Promise<void>;
}

interface Delayed {
  readonly timer: NodeJS.Timeout;
  readonly dueAt: number;
}

/** Makes an empty queue. */
export function createQueue(options: QueueOptions = {}): WorkQueue {
  return new KeyQueue(options);
}

class KeyQueue implements WorkQueue {
  readonly #limits: { readonly baseMs: number; readonly maxMs: number };
  readonly #metrics: QueueMetrics | undefined;
  /** Keys to hand out, in order, with the time they were added; those under work wait here too, but are passed over. */
  readonly #waiting = new Map<string, number>();
  /** Keys under work, with the time they were taken. */
  readonly #working = new Map<string, number>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  #idleWorkers: ((key: string | undefined) => void)[] = [];
  #drained: (() => void)[] = [];
  #stopped = false;

  constructor({ baseMs = 5, maxMs = 1_000_000, metrics }: QueueOptions) {
    this.#limits = { baseMs, maxMs };
    this.#metrics = metrics;
  }

  get depth(): number {
    return this.#waiting.size;
  }

  add(key: string): void {
    clearTimeout(this.#delayed.get(key)?.timer);
    this.#delayed.delete(key);
    if (this.#stopped || this.#waiting.has(key)) return;
    this.#waiting.set(key, performance.now());
    this.#metrics?.added();
    this.#metrics?.depth(this.depth);
    this.#handOut();
  }

  addAfter(key: string, milliseconds: number): void {
    if (this.#stopped) return;
    this.#metrics?.retried();
    if (milliseconds <= 0) this.add(key);
    else this.#delay(key, milliseconds);
  }

  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.addAfter(key, exponentialDelay(failures, this.#limits));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#idleWorkers.push(resolve);
      this.#handOut();
    });
  }

  done(key: string): void {
    const takenAt = this.#working.get(key);
    if (takenAt === undefined) return;
    this.#working.delete(key);
    this.#metrics?.finished(secondsSince(takenAt));
    if (this.#working.size === 0) for (const resolve of this.#drained.splice(0)) resolve();
    this.#handOut();
  }

  inProgress(): { unfinishedSeconds: number; longestSeconds: number } {
    const seconds = [...this.#working.values()].map(secondsSince);
    return {
      unfinishedSeconds: seconds.reduce((sum, each) => sum + each, 0),
      longestSeconds: Math.max(0, ...seconds),
    };
  }

  shutDown(): void {
    this.#stopped = true;
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
    this.#waiting.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#idleWorkers.splice(0)) resolve(undefined);
  }

  drain(): Promise<void> {
    if (this.#working.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #delay(key: string, milliseconds: number): void {
    const dueAt = performance.now() + milliseconds;
    const earlier = this.#delayed.get(key);
    if (earlier !== undefined && earlier.dueAt <= dueAt) return;
    clearTimeout(earlier?.timer);
    const timer = setTimeout(() => this.add(key), Math.min(milliseconds, MAX_TIMER_MS));
    this.#delayed.set(key, { timer, dueAt });
  }

  #handOut(): void {
    for (const [key, addedAt] of this.#waiting) {
      if (this.#idleWorkers.length === 0) return;
      if (this.#working.has(key)) continue;
      this.#waiting.delete(key);
      this.#working.set(key, performance.now());
      this.#metrics?.taken(secondsSince(addedAt));
      this.#metrics?.depth(this.depth);
      this.#idleWorkers.shift()?.(key);
    }
  }
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
