/** Records what really happens as a history: wraps a datastore for its writes, and calls for what was asked and told. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { IpamKind, V3 } from "../../src/api/v3.ts";
import type { CallOptions, Datastore, Kind, Stored } from "../../src/datastore/datastore.ts";
import { atHand } from "../support/at-hand.ts";
import type { Call, LogEntry, Outcome } from "./history.ts";

export class Recorder {
  readonly log: LogEntry[] = [];
  readonly #clock: () => Date;
  readonly #operation = new AsyncLocalStorage<number>();
  #calls = 0;

  constructor(clock: () => Date) {
    this.#clock = clock;
  }

  /** The same store, whose successful writes of IPAM objects are recorded in their order. */
  datastore(store: Datastore): Datastore {
    return {
      description: store.description,
      ...atHand(store),
      get: (kind, name, options) => store.get(kind, name, options),
      list: (kind, options) => store.list(kind, options),
      watch: (kind, options) => store.watch(kind, options),
      updateStatus: (object, options) => store.updateStatus(object, options),
      close: () => store.close(),
      create: async <K extends Kind>(object: Stored<K>, options?: CallOptions) => {
        const stored = await store.create<K>(object, options);
        this.#record(stored, stored);
        return stored;
      },
      update: async <K extends Kind>(object: Stored<K>, options?: CallOptions) => {
        const stored = await store.update<K>(object, options);
        this.#record(stored, stored);
        return stored;
      },
      delete: async <K extends Kind>(object: Stored<K>, options?: CallOptions) => {
        await store.delete<K>(object, options);
        this.#record(object, undefined);
      },
    };
  }

  /** Runs a call. `told` says what of its result the invariants ask about, `toldOnError` the same of its error. */
  async call<T>(
    call: Call,
    run: () => Promise<T>,
    told: (result: T) => Omit<Outcome, "ok">,
    toldOnError: (error: unknown) => Omit<Outcome, "ok">,
  ): Promise<T> {
    const operation = this.#calls++;
    this.log.push({ type: "begin", operation, call });
    try {
      const result = await this.#operation.run(operation, run);
      this.log.push({ type: "end", operation, outcome: { ok: true, ...told(result) } });
      return result;
    } catch (error) {
      this.log.push({ type: "end", operation, outcome: { ok: false, ...toldOnError(error) } });
      throw error;
    }
  }

  #record(object: Stored<Kind>, after: Stored<Kind> | undefined): void {
    if (object.kind === "Installation") return;
    const { kind, metadata } = object;
    const operation = this.#operation.getStore();
    this.log.push({
      type: "version",
      at: this.#clock(),
      kind,
      name: metadata.name,
      ...(after === undefined ? {} : { object: after as V3<IpamKind> }),
      ...(operation === undefined ? {} : { operation }),
    });
  }
}
