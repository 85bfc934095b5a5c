/** A datastore as one process sees it: it may die at a write, be refused one, or never learn that one was done. */
import type { CallOptions, Datastore, Kind, Stored } from "../../src/datastore/datastore.ts";
import { isMarked, isMarkedKind, marked } from "../../src/datastore/rows.ts";
import { atHand } from "../support/at-hand.ts";
import { storeError } from "../support/ipam.ts";

/** What happens at one write of a process, counted from 0. */
export interface Fault {
  readonly write: number;
  /** `before`: the write does not reach the store. `after`: it is done, and no answer comes. */
  readonly when: "before" | "after";
  /** True: the process is gone with it. False: it is told that the store is unavailable. */
  readonly dies: boolean;
}

export const faultText = ({ write, when, dies }: Fault) =>
  `${dies ? "dies" : "is told Unavailable"} ${when} write ${write}`;

/** The end of a process: nothing that it does afterwards reaches anything. */
export class Died extends Error {
  override readonly name = "Died";
}

export class FaultyProcess {
  /** Rejects when the process dies. */
  readonly death: Promise<never>;
  /** Writes so far, the failed one included. */
  writes = 0;
  /** Whether the fault was met. */
  met = false;
  readonly #fault: Fault | undefined;
  readonly #turn: () => Promise<void>;
  #dead = false;
  #die: (error: Died) => void = () => {};

  /** `turn` is waited for before every request: it decides who is next among processes that run side by side. */
  constructor(fault?: Fault, turn: () => Promise<void> = async () => {}) {
    this.#fault = fault;
    this.#turn = turn;
    this.death = new Promise((_, reject) => {
      this.#die = reject;
    });
    this.death.catch(() => {});
  }

  /** Marking a row and removing it are two writes, as they are on an API server. */
  datastore(store: Datastore): Datastore {
    const remove = <K extends Kind>(object: Stored<K>, options?: CallOptions) =>
      this.#write(object, () => store.delete<K>(object, options));
    const update = <K extends Kind>(object: Stored<K>, options?: CallOptions) =>
      this.#write(object, () => store.update<K>(object, options));
    return {
      ...unused(store),
      get: (kind, name, options) => this.#request(() => store.get(kind, name, options)),
      list: (kind, options) => this.#request(() => store.list(kind, options)),
      create: (object, options) => this.#write(object, () => store.create(object, options)),
      update,
      delete: async (object, options) => {
        if (!isMarkedKind(object.kind as Kind) || isMarked(object)) return remove(object, options);
        await remove(await update(marked(object), options), options);
      },
    };
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn();
    return this.#dead ? silence() : this.#answer(await work());
  }

  /** A request that was under way when the process died has no one to answer. */
  #answer<T>(result: T): T | Promise<never> {
    return this.#dead ? silence() : result;
  }

  async #write<T>(object: Stored<Kind>, work: () => Promise<T>): Promise<T> {
    await this.#turn();
    if (this.#dead) return silence();
    const fault = this.writes++ === this.#fault?.write ? this.#fault : undefined;
    if (!fault) return this.#answer(await work());
    this.met = true;
    if (fault.when === "after") await work();
    if (!fault.dies) throw storeError("Unavailable", { kind: object.kind, name: object.metadata.name });
    this.#dead = true;
    this.#die(new Died(faultText(fault)));
    return silence();
  }
}

const silence = () => new Promise<never>(() => {});

const unused = (store: Datastore) => ({
  description: store.description,
  ...atHand(store),
  updateStatus: store.updateStatus.bind(store),
  watch: store.watch.bind(store),
  close: () => store.close(),
});
