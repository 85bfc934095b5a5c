/** A process whose calls to the store can be stopped at one of them, and which sees the pools as they were at some time. */
import type { IPPool } from "../../src/api/v3.ts";
import type { CallOptions, Datastore, Kind, Stored } from "../../src/datastore/datastore.ts";
import { isMarked, isMarkedKind, marked } from "../../src/datastore/rows.ts";
import { atHand } from "../support/at-hand.ts";

export interface GatedOptions {
  /** Which call to the store is not made until `open`, counted from 0. */
  readonly stopAt?: number;
  /** What the process has read of the pools. */
  readonly pools: readonly IPPool[];
  /** False: the process has no blocks at hand, and lists them. */
  readonly hasBlocks: boolean;
}

export class GatedProcess {
  /** Calls to the store so far, the one it is stopped at included. */
  calls = 0;
  /** Told of each call. */
  onCall: (calls: number) => void = () => {};
  readonly #options: GatedOptions;
  readonly #stopped = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  constructor(options: GatedOptions) {
    this.#options = options;
  }

  /** Resolves when the process waits at its gate. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Lets it go on. One that is never let go on has crashed. */
  open(): void {
    this.#opened.resolve();
  }

  /** Marking an object as deleted and removing it are two calls, as they are on an API server. */
  datastore(store: Datastore): Datastore {
    const { pools, hasBlocks } = this.#options;
    const update = async <K extends Kind>(object: Stored<K>, options?: CallOptions) => {
      await this.#pass();
      return store.update<K>(object, options);
    };
    const remove = async <K extends Kind>(object: Stored<K>, options?: CallOptions) => {
      await this.#pass();
      await store.delete<K>(object, options);
    };
    return {
      description: store.description,
      ...(hasBlocks && atHand(store)),
      updateStatus: store.updateStatus.bind(store),
      watch: store.watch.bind(store),
      close: () => store.close(),
      get: async (kind, name, options) => {
        await this.#pass();
        return store.get(kind, name, options);
      },
      list: async (kind, options) => {
        await this.#pass();
        const listed = await store.list(kind, options);
        return kind === "IPPool" ? { ...listed, items: pools as never } : listed;
      },
      listNames: async (kind, options) => {
        await this.#pass();
        return store.listNames!(kind, options);
      },
      create: async (object, options) => {
        await this.#pass();
        return store.create(object, options);
      },
      update,
      delete: async (object, options) => {
        if (!isMarkedKind(object.kind as Kind) || isMarked(object)) return remove(object, options);
        await remove(await update(marked(object), options), options);
      },
    };
  }

  async #pass(): Promise<void> {
    const number = this.calls++;
    this.onCall(this.calls);
    if (number !== this.#options.stopAt) return;
    this.#stopped.resolve();
    await this.#opened.promise;
  }
}
