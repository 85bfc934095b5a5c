/**
 * What a cached datastore knows of one kind: what the watch has delivered, this process's own writes where they are
 * ahead of it, and the names of which neither can be trusted. No I/O: reading and feeding is `cached.ts`'s.
 *
 * Revisions of one store are compared as numbers: an API server's and an embedded store's both grow with each write.
 */
import { newestOf } from "../kube/glance.ts";
import type { DatastoreEvent, Kind, Listed, Stored } from "./datastore.ts";
import { byName, isMarked } from "./rows.ts";

/** A question to the server under way: what was known when it was asked. */
export interface Question<K extends Kind> {
  readonly name: string;
  readonly entry: Stored<K> | undefined;
  readonly doubt: object | undefined;
  readonly era: object;
}

/** An object that was deleted, kept until the watch has delivered its deletion: late news of it must not bring it back. */
interface Gone {
  readonly uid: string | undefined;
  readonly revision: bigint;
}

/** Told of each change of what is live. */
export interface CacheIndex<K extends Kind> {
  put(object: Stored<K>, replaced: Stored<K> | undefined): void;
  delete(object: Stored<K>): void;
}

export class KindCache<K extends Kind> {
  readonly #index: CacheIndex<K> | undefined;
  readonly #live = new Map<string, Stored<K>>();
  /** What is live, sorted by name, as long as nothing has changed. */
  #sorted: readonly Stored<K>[] | undefined;
  readonly #gone = new Map<string, Gone>();
  /** Names to ask the server about, each with a token of its own: an answer settles only doubts older than the question. */
  readonly #doubts = new Map<string, object>();
  /** Revision up to which the watch has delivered. */
  #at = 0n;
  /** Newest revision that came by other ways than the watch. */
  #ahead = 0n;
  #fed = false;
  /** Replaced when all that was held is dropped. */
  #era = {};

  /** Differs before and after all that was held was dropped: an answer to what was asked before it is not kept. */
  get era(): object {
    return this.#era;
  }

  /** The object that was written last, of those held. */
  get newest(): Stored<K> | undefined {
    return newestOf(this.#live.values());
  }

  constructor(index?: CacheIndex<K>) {
    this.#index = index;
  }

  /** Whether a watch keeps this up to date. */
  get fed(): boolean {
    return this.#fed;
  }

  /** Names that the server must be asked about. */
  get doubtful(): readonly string[] {
    return [...this.#doubts.keys()];
  }

  /** Whether all that is here is as new as the watch, or as an own write. */
  get isSettled(): boolean {
    return this.#fed && this.#doubts.size === 0;
  }

  /** Whether a list of what is here is one that the server has given: no own write is ahead of the watch. */
  get isWhole(): boolean {
    return this.isSettled && this.#gone.size === 0 && this.#at >= this.#ahead;
  }

  /** The object, where it can be trusted. */
  read(name: string): Stored<K> | undefined {
    return this.knows(name) ? this.#live.get(name) : undefined;
  }

  /** Whether what is here of a name, its absence included, is as new as the watch. */
  knows(name: string): boolean {
    return this.#fed && !this.#doubts.has(name);
  }

  /** All objects, sorted by name. While `isWhole`, they are true at the revision; while `isSettled`, some may be newer. */
  list(labels: Readonly<Record<string, string>>): Listed<K> {
    const hasLabels = ({ metadata }: Stored<K>) =>
      Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
    const all = () => (this.#sorted ??= this.where(() => true));
    const items = Object.keys(labels).length === 0 ? all() : this.where(hasLabels);
    return { items, revision: String(this.#at), malformed: [] };
  }

  /** Some of the objects, sorted by name: sorting few is cheaper than sorting all after each change. */
  where(isWanted: (object: Stored<K>) => boolean): Stored<K>[] {
    const wanted: Stored<K>[] = [];
    for (const object of this.#live.values()) if (isWanted(object)) wanted.push(object);
    return wanted.sort(byName);
  }

  /** A list that a watch will go on from. What came by other ways and is newer stays. */
  replace({ items, malformed, revision }: Listed<K>): void {
    const at = BigInt(revision);
    const uids = new Set(items.map(({ metadata }) => metadata.uid));
    for (const [name, object] of this.#live) if (revisionOf(object) <= at) this.#keep(name, undefined);
    for (const [name, { uid, revision: seen }] of this.#gone) if (seen <= at && !uids.has(uid)) this.#gone.delete(name);
    for (const item of items) this.#store(item);
    for (const { name } of malformed) this.doubt(name);
    this.#at = at;
    this.#fed = true;
  }

  /** One event of the watch. */
  take({ type, object }: DatastoreEvent<K>): void {
    this.#at = newest(this.#at, revisionOf(object));
    if (type === "Deleted") this.#forget(object);
    else this.#store(object);
  }

  /** The watch does not deliver: nothing here is up to date until the next `replace`, or until it was `resumed`. */
  unfed(): void {
    this.#fed = false;
  }

  /** The watch goes on from where it was. */
  resumed(): void {
    this.#fed = true;
  }

  /** Drops all that is held: a list that is asked for now knows better. Doubts stay. */
  reset(): void {
    this.unfed();
    for (const name of [...this.#live.keys()]) this.#keep(name, undefined);
    this.#gone.clear();
    this.#at = 0n;
    this.#ahead = 0n;
    this.#era = {};
  }

  /** What a write, or the server's answer to a read, says. One that the watch has delivered the end of is no news. */
  put(object: Stored<K>): void {
    const revision = revisionOf(object);
    if (revision <= this.#at && !this.#live.has(object.metadata.name)) return;
    this.#ahead = newest(this.#ahead, revision);
    if (isMarked(object)) this.drop(object);
    else this.#store(object);
  }

  /** The object no longer exists. */
  drop(object: Stored<K>): void {
    const { name, uid } = object.metadata;
    const entry = this.#live.get(name);
    const revision = revisionOf(object);
    if (entry && entry.metadata.uid !== uid) return; // already another one of this name
    this.#keep(name, undefined);
    if (entry || revision > this.#at) this.#gone.set(name, { uid, revision }); // else the watch has delivered its end
  }

  /** Nothing here about `name` counts until the server has been asked. */
  doubt(name: string): void {
    this.#doubts.set(name, {});
  }

  ask(name: string): Question<K> {
    return { name, entry: this.#live.get(name), doubt: this.#doubts.get(name), era: this.#era };
  }

  /** The server's answer; undefined: there is no such object. */
  answer({ name, entry, doubt, era }: Question<K>, object: Stored<K> | undefined): void {
    if (era !== this.#era) return;
    if (object) this.put(object);
    else if (entry && this.#live.get(name) === entry) this.drop(entry);
    if (this.#doubts.get(name) === doubt) this.#doubts.delete(name);
  }

  #store(object: Stored<K>): void {
    const { name, uid } = object.metadata;
    const gone = this.#gone.get(name);
    const seen = this.#live.get(name);
    const before = gone?.revision ?? (seen && revisionOf(seen)) ?? -1n;
    if (gone?.uid === uid && gone !== undefined) return;
    if (revisionOf(object) <= before) return;
    this.#gone.delete(name);
    this.#keep(name, object);
  }

  #keep(name: string, object: Stored<K> | undefined): void {
    this.#sorted = undefined;
    const replaced = this.#live.get(name);
    if (object) {
      this.#live.set(name, object);
      this.#index?.put(object, replaced);
    } else if (replaced) {
      this.#live.delete(name);
      this.#index?.delete(replaced);
    }
  }

  #forget({ metadata: { name, uid } }: Stored<K>): void {
    if (this.#live.get(name)?.metadata.uid === uid) this.#keep(name, undefined);
    if (this.#gone.get(name)?.uid === uid) this.#gone.delete(name);
  }
}

function revisionOf({ metadata }: Stored<Kind>): bigint {
  return BigInt(metadata.resourceVersion ?? 0);
}

function newest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
