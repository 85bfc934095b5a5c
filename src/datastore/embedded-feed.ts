/**
 * Wakes watchers of an embedded store: at once for this process's own writes, and by polling `PRAGMA data_version`
 * for those that other connections made to the file. It polls only while somebody waits.
 */
const POLL_MS = 50;

export class Feed {
  readonly #dataVersion: (() => number) | undefined;
  #waiting = new Set<() => void>();
  #seen = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `dataVersion` changes when another connection has written; undefined: there is no other. */
  constructor(dataVersion: (() => number) | undefined) {
    this.#dataVersion = dataVersion;
    this.#seen = dataVersion?.() ?? 0;
  }

  /** Wakes everybody. */
  notify(): void {
    const woken = this.#waiting;
    this.#waiting = new Set();
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const wake of woken) wake();
  }

  /** Resolves when something may have been written, or `signal` aborts. */
  wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) return Promise.resolve();
    signal.addEventListener("abort", resolve as () => void, { once: true });
    this.#waiting.add(resolve);
    if (this.#dataVersion) this.#timer ??= setInterval(() => this.#poll(), POLL_MS);
    return promise.finally(() => this.#left(resolve, signal));
  }

  #left(resolve: () => void, signal: AbortSignal): void {
    signal.removeEventListener("abort", resolve);
    this.#waiting.delete(resolve);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A failing poll wakes the watchers too: their next read says what is wrong. */
  #poll(): void {
    const version = this.#read();
    if (version === this.#seen) return;
    this.#seen = version;
    this.notify();
  }

  #read(): number {
    try {
      return this.#dataVersion!();
    } catch {
      return Number.NaN;
    }
  }
}
