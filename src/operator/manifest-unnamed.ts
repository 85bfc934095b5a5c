/** Stored objects that no file names any more: they are deleted, but not a pool while addresses of it are in use. */
import type { IPAMBlock, IPPool } from "../api/v3.ts";
import type { Datastore, Stored } from "../datastore/datastore.ts";
import { attributeAt, isCooling, rangeOf } from "../ipam/block.ts";
import { overlaps, parseCidr } from "../net/cidr.ts";
import { deleted } from "./manifest-apply.ts";
import { keyOf } from "./manifest-judgement.ts";
import type { ManifestKind } from "./manifest-kinds.ts";

/** A save may empty or remove a file for this long. */
export const UNNAMED_MS = 2000;
/** How often it is looked whether a pool that is kept has become empty. */
export const KEPT_MS = 10_000;

export interface Owned {
  readonly object: Stored<ManifestKind>;
  readonly file: string;
}

export type UnnamedEvent = { readonly file: string; readonly kind: ManifestKind; readonly name: string } & (
  | { readonly type: "deleted" }
  /** A pool that stays: so many of its addresses are in use. */
  | { readonly type: "kept"; readonly addresses: number }
);

interface Waiting {
  /** Milliseconds: when it is to be deleted, if it may be. */
  readonly due: number;
  /** Whether it was said that it is kept. */
  readonly isKept: boolean;
}

export class Unnamed {
  readonly #datastore: Datastore;
  readonly #waiting = new Map<string, Waiting>();

  constructor(datastore: Datastore) {
    this.#datastore = datastore;
  }

  /** Deletes what has been unnamed for long enough. @returns what became of it */
  async pass(unnamed: readonly Owned[], now: number): Promise<UnnamedEvent[]> {
    const keys = new Set(unnamed.map(({ object }) => keyOf(object)));
    for (const key of this.#waiting.keys()) if (!keys.has(key)) this.#waiting.delete(key);
    const events: UnnamedEvent[] = [];
    for (const one of unnamed) {
      const event = await this.#look(one, now);
      if (event !== undefined) events.push(event);
    }
    return events;
  }

  async #look({ object, file }: Owned, now: number): Promise<UnnamedEvent | undefined> {
    const key = keyOf(object);
    const { due, isKept } = this.#waiting.get(key) ?? { due: now + UNNAMED_MS, isKept: false };
    this.#waiting.set(key, { due, isKept });
    if (now < due) return undefined;
    const about = { file, kind: object.kind, name: object.metadata.name };
    const addresses = object.kind === "IPPool" ? await addressesInUse(this.#datastore, object) : 0;
    if (addresses === 0) return (await deleted(object, this.#datastore)) ? { ...about, type: "deleted" } : undefined;
    this.#waiting.set(key, { due: now + KEPT_MS, isKept: true });
    return isKept ? undefined : { ...about, type: "kept", addresses };
  }
}

/** Addresses of the pool's range that are allocated; those that cool down are free soon, pool or not. */
async function addressesInUse(datastore: Datastore, { spec }: IPPool): Promise<number> {
  const range = parseCidr(spec.cidr);
  if (range === undefined) return 0;
  const { items } = await datastore.list("IPAMBlock");
  const counts = items.filter((block) => overlaps(rangeOf(block), range)).map(inUse);
  return counts.reduce((sum, count) => sum + count, 0);
}

const inUse = (block: IPAMBlock) =>
  block.spec.allocations.filter((at, ordinal) => at !== null && !isCooling(attributeAt(block, ordinal) ?? {})).length;
