/**
 * Watch-fed reads for long-lived processes, over the same contract. Reads of the cached kinds are as new as the watch, or
 * as this process's own last write; writes go to the server at the revision they were computed from, so that one computed
 * from an old read loses, and the next read of that object asks the server.
 */

import { SINGLETON_NAME } from "../api/installation.ts";
import { kindIn, objectIn } from "../api/kind-names.ts";
import { runTask, type TaskFailure } from "../kube/background.ts";
import { type BackoffOptions, createBackoff, sleep } from "../kube/backoff.ts";
import { compare } from "../kube/glance.ts";
import { type Cidr, overlaps } from "../net/cidr.ts";
import { BlockIndex, type BlockRef, blockRef } from "./block-index.ts";
import { KindCache } from "./cached-kind.ts";
import {
  type CallOptions,
  type Datastore,
  DatastoreError,
  type DatastoreEvent,
  type FollowedNodes,
  isDatastoreError,
  type Kind,
  type Listed,
  type ListedName,
  type ListOptions,
  type Malformed,
  type NodeSource,
  type OverlapOptions,
  type StatusOptions,
  type Stored,
  type WatchOptions,
} from "./datastore.ts";
import { Deliveries } from "./deliveries.ts";
import { holdsHandle } from "./handle-hashes.ts";
import { byName, isMarkedKind } from "./rows.ts";
import { StoreHistory } from "./store-history.ts";

/**
 * What allocation reads and can act upon late. Handles are not among them, as in Calico: whoever releases by handle must
 * see the blocks that another process has just taken addresses of.
 */
export const CACHED_KINDS = [
  "IPAMBlock",
  "BlockAffinity",
  "IPAMConfiguration",
  "IPPool",
  "IPReservation",
] as const satisfies readonly Kind[];

/** What a cached datastore watches, and what it reports. */
export interface CacheOptions {
  /** Default: {@link CACHED_KINDS}. Every other kind is read from the server. Nodes are always watched. */
  readonly kinds?: readonly Kind[] | undefined;
  /** Ends the watches before `close` does; reads then go to the server. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the reason when a kind (or `Node`) cannot be listed or watched. It is retried, and read from the server
   * meanwhile. Default: a warning of the process.
   */
  readonly onError?: ((kind: Kind | "Node", error: unknown) => void) | undefined;
  /** Called for each object that a watch skips because it cannot be read. */
  readonly onMalformed?: WatchOptions["onMalformed"] | undefined;
  /**
   * Called when the store has an older revision than what was read from it: it was restored from a backup. The cache is
   * dropped and read again. Default: a warning of the process.
   */
  readonly onWentBack?: ((held: string, found: string) => void) | undefined;
  /** Delay between attempts to list and watch, in milliseconds. Default 100 doubling to 30,000. */
  readonly backoff?: BackoffOptions | undefined;
}

/** A datastore whose reads of some kinds, and of nodes, need no request. */
export interface CachedDatastore extends Datastore {
  /**
   * Resolves when every watched kind was listed once, or may not be listed (Unauthorized). Until then, and for kinds that may
   * not be listed, reads go to the server. Rejects if the datastore is closed before.
   */
  synced(): Promise<void>;
}

/** How long to wait for the watch before a list of all is asked for. */
const DELIVERY_MS = 1000;
const BACKOFF: BackoffOptions = { baseMs: 100, maxMs: 30_000 };
/** A cache that has heard nothing for this long, give or take a quarter, asks which revision the store has reached. */
const SILENCE_MS = 3500;
const GLANCE_MS = 2000;

/**
 * Starts to follow the kinds, and the nodes, of a datastore; closing the one closes the other. Objects are shared by all
 * who read them: change a copy.
 */
export function cachedDatastore(store: Datastore, options: CacheOptions = {}): CachedDatastore {
  return new WatchFedDatastore(store, options);
}

class WatchFedDatastore implements CachedDatastore {
  readonly description: string;
  readonly isCached = true;
  readonly nodes: NodeSource | undefined;
  readonly #store: Datastore;
  readonly #options: CacheOptions;
  readonly #caches: ReadonlyMap<Kind, KindCache<Kind>>;
  readonly #blockIndex = new BlockIndex();
  readonly #blockDeliveries = new Deliveries();
  readonly #end = new AbortController();
  readonly #history = new StoreHistory((held, found) => this.#wentBack(held, found));
  /** Never rejects. */
  readonly #feeding: Promise<unknown>;
  readonly #listed: Promise<unknown>;

  constructor(store: Datastore, options: CacheOptions) {
    const { kinds = CACHED_KINDS } = options;
    this.#options = options;
    this.#caches = new Map(kinds.map((kind) => [kind, this.#newCache(kind)]));
    this.#store = store;
    this.description = store.description;
    const signal = AbortSignal.any([this.#end.signal, ...(options.signal ? [options.signal] : [])]);
    const nodes = this.#followNodes(signal);
    this.nodes = nodes && { ...store.nodes!, get: nodes.get };
    const feeds = Array.from(this.#caches, ([kind, cache]) => this.#feed(kind, cache, signal));
    this.#feeding = Promise.all([nodes?.ended, this.#glances(signal), ...feeds.map(({ ended }) => ended)]);
    this.#listed = Promise.all([nodes?.synced(), ...feeds.map(({ listed }) => listed)]);
    this.#listed.catch(() => {}); // nobody may be waiting when it ends unsynced
  }

  async synced(): Promise<void> {
    await this.#listed;
  }

  async get<K extends Kind>(kind: K, name: string, options?: CallOptions): Promise<Stored<K>> {
    const cache = this.#cacheOf(kind);
    if (!cache) return this.#store.get(kind, name, options);
    options?.signal?.throwIfAborted();
    if (options?.fresh) return this.#ask(kind, cache, name, options);
    const object = cache.read(name);
    if (object) return object;
    // Of a block, row or handle that another process has just made, the watch may not have told yet: absence is acted upon.
    if (isMarkedKind(kind) || !cache.knows(name)) return this.#ask(kind, cache, name, options);
    throw new DatastoreError("NotFound", kind, name, `${objectIn(this.description, kind, name)} does not exist`);
  }

  async list<K extends Kind>(kind: K, options: ListOptions = {}): Promise<Listed<K>> {
    const cache = this.#cacheOf(kind);
    options.signal?.throwIfAborted();
    if (cache?.fed && !options.fresh) {
      for (const name of cache.doubtful) await this.#settle(kind, cache, name, options);
      const { labels = {}, atOneRevision = true } = options;
      if (atOneRevision ? cache.isWhole : cache.isSettled) return cache.list(labels);
    }
    return this.#list(kind, options);
  }

  blocksOf(affinity: string, options?: CallOptions): readonly Stored<"IPAMBlock">[] | undefined {
    const cache = this.#cacheOf("IPAMBlock");
    if (!cache?.isSettled) return this.#store.blocksOf?.(affinity, options);
    return Array.from(this.#blockIndex.ownedBy(affinity), (name) => cache.read(name)!).sort(byName);
  }

  blocksOfHandle(handleID: string): readonly Stored<"IPAMBlock">[] | undefined {
    const cache = this.#cacheOf("IPAMBlock");
    return cache?.isSettled ? cache.where(holdsHandle(handleID)) : undefined;
  }

  async blocksOverlapping(range: Cidr, options: OverlapOptions = {}): Promise<readonly BlockRef[] | undefined> {
    const cache = this.#cacheOf("IPAMBlock");
    const uid = options.after?.metadata.uid;
    if (!cache?.fed) return this.#store.blocksOverlapping?.(range, options);
    if (uid !== undefined && !(await this.#blockDeliveries.wait(uid, DELIVERY_MS, options.signal))) return undefined;
    for (const name of cache.doubtful) await this.#settle("IPAMBlock", cache, name, options);
    if (!cache.fed) return undefined;
    const unreadable = cache.doubtful
      .flatMap((name) => blockRef(name) ?? [])
      .filter((ref) => overlaps(ref.range, range));
    const readable = this.#blockIndex.overlapping(range);
    return [...readable, ...unreadable.filter(({ name }) => !readable.some((ref) => ref.name === name))];
  }

  listNames(kind: Kind, options?: CallOptions): Promise<readonly ListedName[]> {
    return this.#store.listNames?.(kind, options) ?? namesIn(this.#store.list(kind, { ...options, fresh: true }));
  }

  create<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#written(object, this.#store.create<K>(object, options));
  }

  update<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#written(object, this.#store.update<K>(object, options));
  }

  rehearse<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#store.rehearse?.<K>(object, options) ?? Promise.resolve(object);
  }

  updateStatus(object: Stored<"Installation">, options?: StatusOptions): Promise<Stored<"Installation">> {
    return this.#written<"Installation">(object, this.#store.updateStatus(object, options));
  }

  async delete<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<void> {
    const cache = this.#cacheOf(object.kind);
    const era = cache?.era;
    try {
      await this.#store.delete(object, options);
      if (cache?.era === era) cache?.drop(object);
      else cache?.doubt(object.metadata.name);
    } catch (error) {
      cache?.doubt(object.metadata.name);
      throw error;
    }
  }

  /** Straight from the store. */
  watch<K extends Kind>(kind: K, options: WatchOptions): AsyncIterable<DatastoreEvent<K>> {
    return this.#store.watch(kind, options);
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#feeding;
    await this.#store.close();
  }

  #newCache(kind: Kind): KindCache<Kind> {
    if (kind !== "IPAMBlock") return new KindCache<Kind>();
    return new KindCache<"IPAMBlock">(this.#blockIndex) as unknown as KindCache<Kind>;
  }

  #cacheOf<K extends Kind>(kind: K): KindCache<K> | undefined {
    return this.#caches.get(kind) as KindCache<K> | undefined;
  }

  async #ask<K extends Kind>(kind: K, cache: KindCache<K>, name: string, options?: CallOptions): Promise<Stored<K>> {
    const question = cache.ask(name);
    const { resourceVersion: held } = question.entry?.metadata ?? {};
    const answered = this.#history.asked(held ?? "0");
    try {
      const object = await this.#store.get(kind, name, options);
      answered(object.metadata.resourceVersion);
      cache.answer(question, object);
      return object;
    } catch (error) {
      if (isDatastoreError(error, "NotFound")) cache.answer(question, undefined);
      throw error;
    }
  }

  /** Asks for the cache's sake. An object that cannot be read stays in doubt. */
  async #settle<K extends Kind>(kind: K, cache: KindCache<K>, name: string, { signal }: CallOptions): Promise<void> {
    try {
      await this.#ask(kind, cache, name, { ...(signal && { signal }) });
    } catch (error) {
      if (!isDatastoreError(error, "NotFound", "Invalid")) throw error;
    }
  }

  /** A write that failed says at least that what is here may be old; one without an answer may have taken place. */
  async #written<K extends Kind>(object: Stored<K>, write: Promise<Stored<K>>): Promise<Stored<K>> {
    const cache = this.#cacheOf(object.kind);
    const era = cache?.era;
    const answered = object.kind === "Installation" ? undefined : this.#history.asked(); // it may be in another store
    try {
      const stored = await write;
      const { resourceVersion } = stored.metadata;
      if (resourceVersion !== object.metadata.resourceVersion) answered?.(resourceVersion); // it changed something
      if (cache?.era === era) cache?.put(stored);
      else cache?.doubt(stored.metadata.name);
      return stored;
    } catch (error) {
      cache?.doubt(object.metadata?.name);
      throw error;
    }
  }

  async #list<K extends Kind>(kind: K, options: ListOptions): Promise<Listed<K>> {
    const answered = kind === "Installation" ? undefined : this.#history.asked();
    const list = await this.#store.list(kind, options);
    answered?.(list.revision);
    return list;
  }

  #wentBack(held: string, found: string): void {
    const { onWentBack = warnOfRestore } = this.#options;
    for (const cache of this.#caches.values()) cache.reset();
    onWentBack(held, found);
  }

  async #glances(signal: AbortSignal): Promise<void> {
    const [kind] = this.#caches.keys();
    if (kind === undefined || !this.#store.glance) return;
    await this.#runTask(kind, signal, () => this.#glanceAtTimes(kind, signal));
  }

  /** A connection can be dead for minutes before its watch ends. */
  async #glanceAtTimes(kind: Kind, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(SILENCE_MS * (0.75 + Math.random() / 4), signal);
      if (signal.aborted || this.#history.silentMs < SILENCE_MS / 2) continue;
      const answered = this.#history.asked();
      const limit = AbortSignal.any([signal, AbortSignal.timeout(GLANCE_MS)]);
      // A server that is away, or refuses, says nothing of its revision: the watches report it.
      const seen = await this.#store.glance?.(kind, SINGLETON_NAME, { signal: limit }).catch(() => undefined);
      if (seen) answered(seen.revision);
    }
  }

  /** Whether what the watch delivers next follows what is held; otherwise all is listed again. */
  async #mayResume(kind: Kind, cache: KindCache<Kind>, signal: AbortSignal): Promise<boolean> {
    const object = cache.newest?.metadata;
    const held = { revision: this.#history.newest, object };
    const answers = [this.#history.asked(), this.#history.asked(object?.resourceVersion ?? "0")] as const;
    const seen = await this.#store.glance?.(kind, object?.name ?? SINGLETON_NAME, { signal });
    answers[0](seen?.revision);
    answers[1](seen?.object?.resourceVersion);
    const isSame = seen === undefined || compare(held, seen) === "same";
    if (isSame) cache.resumed();
    return isSame;
  }

  #followNodes(signal: AbortSignal): FollowedNodes | undefined {
    const { backoff = BACKOFF } = this.#options;
    return this.#store.nodes?.follow({ signal, backoff, onError: (error) => this.#failed("Node", error) });
  }

  #failed(kind: Kind | "Node", error: unknown): void {
    const { onError } = this.#options;
    if (onError) onError(kind, error);
    else warnOfFailure(kindIn(this.description, kind), error);
  }

  /** What the feed does not handle itself, such as a callback that throws, is told as any other failure, and it goes on. */
  #runTask(kind: Kind, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { backoff = BACKOFF } = this.#options;
    const onFailure = ({ error }: TaskFailure) => {
      try {
        this.#failed(kind, error);
      } catch (thrown) {
        process.emitWarning(`onError of the cache of ${kindIn(this.description, kind)} threw: ${thrown}`);
      }
    };
    return runTask({ task: "caches", what: `follow ${kind}`, signal, backoff, onFailure }, work);
  }

  #feed(kind: Kind, cache: KindCache<Kind>, signal: AbortSignal) {
    const { promise: listed, resolve, reject } = Promise.withResolvers<void>();
    const { backoff = BACKOFF } = this.#options;
    const onMalformed = (malformed: Malformed) => {
      cache.doubt(malformed.name); // what has become unreadable must not be read as it was before
      this.#options.onMalformed?.(malformed);
    };
    const pauses = createBackoff(backoff);
    const deliveries = kind === "IPAMBlock" ? this.#blockDeliveries : undefined;
    const run = async () => {
      while (!signal.aborted) {
        const round = AbortSignal.any([signal, this.#history.present]);
        const mayResume = () => this.#mayResume(kind, cache, round);
        const hooks = { onMalformed, onCut: () => cache.unfed(), mayResume };
        try {
          cache.reset(); // what the list does not have must not outlive it
          const list = await this.#list(kind, { signal: round });
          round.throwIfAborted();
          cache.replace(list);
          deliveries?.replace(list.items);
          resolve();
          for await (const event of this.#store.watch(kind, { signal: round, revision: list.revision, ...hooks })) {
            cache.take(event);
            deliveries?.take(event);
            this.#history.heard(event.object.metadata.resourceVersion);
            pauses.reset();
          }
        } catch (error) {
          if (!round.aborted) this.#failed(kind, error);
          if (isDatastoreError(error, "Unauthorized")) resolve();
        }
        cache.unfed();
        deliveries?.clear();
        if (round.aborted) pauses.reset();
        await sleep(pauses.next(), signal);
      }
    };
    const ended = this.#runTask(kind, signal, run).finally(() =>
      reject(new Error(`Stopped before ${kindIn(this.description, kind)} could be listed`)),
    );
    return { listed, ended };
  }
}

async function namesIn(listing: Promise<Listed<Kind>>): Promise<readonly ListedName[]> {
  const { items, malformed } = await listing;
  return [...items.map(({ metadata: { name } }) => ({ name })), ...malformed];
}

function warnOfRestore(held: string, found: string): void {
  process.emitWarning(
    `The store's revision went back from ${held} to ${found}: it was restored from a backup. What was held is read again`,
  );
}

function warnOfFailure(kind: string, error: unknown): void {
  process.emitWarning(`${kind} is read from the server, one request a read: ${(error as Error).message}`);
}
