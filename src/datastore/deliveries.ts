/**
 * Which objects a watch itself has delivered, by UID. An own write or read that was put into a cache proves nothing about the
 * objects stored before it; its delivery does, because a watch delivers in the order of the writes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DatastoreEvent, Kind, Stored } from "./datastore.ts";

export class Deliveries {
  readonly #uids = new Set<string>();
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  /** A list that the watch goes on from. */
  replace(items: readonly Stored<Kind>[]): void {
    this.#uids.clear();
    for (const { metadata } of items) this.#add(metadata.uid);
  }

  take({ type, object: { metadata } }: DatastoreEvent<Kind>): void {
    if (type === "Deleted") this.#uids.delete(metadata.uid ?? "");
    else this.#add(metadata.uid);
  }

  /** The watch has ended. */
  clear(): void {
    this.#uids.clear();
  }

  /** Resolves to whether the object is delivered within `limitMs`. */
  async wait(uid: string, limitMs: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#uids.has(uid)) return true;
    const waiting = this.#waiting.get(uid) ?? Promise.withResolvers<void>();
    this.#waiting.set(uid, waiting);
    const end = new AbortController();
    const limit = AbortSignal.any([end.signal, ...(signal ? [signal] : [])]);
    try {
      await Promise.race([waiting.promise, sleep(limitMs, undefined, { signal: limit, ref: false })]);
    } finally {
      end.abort();
      this.#waiting.delete(uid);
    }
    return this.#uids.has(uid);
  }

  #add(uid = ""): void {
    this.#uids.add(uid);
    this.#waiting.get(uid)?.resolve();
  }
}
