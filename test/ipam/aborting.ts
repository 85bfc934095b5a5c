/** A caller who leaves: its signal fires at one request to the store, before that reaches the store or after it was done. */

import type { CallOptions, Datastore } from "../../src/datastore/datastore.ts";
import { atHand } from "../support/at-hand.ts";

export interface Leaving {
  /** Which request, counted from 0. */
  readonly request: number;
  /** `before`: it does not reach the store. `after`: it is done, and the caller does not wait for the answer. */
  readonly when: "before" | "after";
}

export class AbortingProcess {
  readonly reason = new Error("the caller has left");
  /** Never: a caller who leaves is no process that dies. */
  readonly death = new Promise<never>(() => {});
  /** Requests so far. */
  requests = 0;
  readonly #leaving: Leaving | undefined;
  readonly #controller = new AbortController();

  constructor(leaving?: Leaving) {
    this.#leaving = leaving;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  datastore(store: Datastore): Datastore {
    return {
      description: store.description,
      ...atHand(store),
      updateStatus: store.updateStatus.bind(store),
      watch: store.watch.bind(store),
      close: () => store.close(),
      get: (kind, name, options) => this.#request((how) => store.get(kind, name, how), options),
      list: (kind, options) => this.#request((how) => store.list(kind, { ...options, ...how }), options),
      create: (object, options) => this.#request((how) => store.create(object, how), options),
      update: (object, options) => this.#request((how) => store.update(object, how), options),
      delete: (object, options) => this.#request((how) => store.delete(object, how), options),
    };
  }

  async #request<T>(work: (options: CallOptions) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const isLast = this.requests++ === this.#leaving?.request;
    if (isLast && this.#leaving?.when === "before") this.#controller.abort(this.reason);
    const answer = work(options).finally(() => isLast && this.#controller.abort(this.reason));
    await answer.catch(() => {});
    options.signal?.throwIfAborted();
    return answer;
  }
}
