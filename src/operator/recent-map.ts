/** A bounded map whose entries end: the one that was set first makes room for a new one. */
export class RecentMap<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #most: number;
  readonly #keepMs: number;

  constructor(most: number, keepMs: number) {
    this.#most = most;
    this.#keepMs = keepMs;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.until > performance.now() ? entry.value : undefined;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key); // to stand last
    this.#entries.set(key, { value, until: performance.now() + this.#keepMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#most) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
