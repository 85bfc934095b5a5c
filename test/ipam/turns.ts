/** Lets the requests of several processes take turns in a given order: the same order, the same race. */

export class Turns {
  readonly #order: readonly number[];
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** Which of those that wait is next, by their place in the queue; after the last one the first is always next. */
  constructor(order: readonly number[]) {
    this.#order = order;
  }

  /** Resolves when it is the caller's turn. */
  readonly take = (): Promise<void> =>
    new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    });

  /** One turn of the event loop each: whoever had the last turn is waiting again, or done. */
  #next(): void {
    const [chosen] = this.#waiting.splice((this.#order[this.#taken++] ?? 0) % this.#waiting.length, 1);
    chosen?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }
}
