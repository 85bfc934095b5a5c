/** Cached reads over the embedded store: the contract, and what is read while the watch lags, fails or has ended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { printJson } from "../kube/json.ts";
import { CACHED_KINDS, type CachedDatastore, type CacheOptions, cachedDatastore } from "./cached.ts";
import { describeDatastoreContract } from "./contract/contract.ts";
import { affinityOf, blockOf, configurationOf, handleOf, MALFORMED, poolOf, SEQUENCE } from "./contract/objects.ts";
import { code, names, withSpec } from "./contract/store.ts";
import { type Datastore, DatastoreError, type DatastoreEvent, type Kind } from "./datastore.ts";
import { openEmbedded } from "./embedded.ts";
import { openDatabase } from "./embedded-database.ts";
import { Tables } from "./embedded-tables.ts";
import { marked } from "./rows.ts";

const EVERY_KIND: readonly Kind[] = [...CACHED_KINDS, "IPAMHandle", "Installation"];
const FAST = { baseMs: 1, maxMs: 1 };

async function opened() {
  const dir = mkdtempSync(join(tmpdir(), "ipam-cached-"));
  const path = join(dir, "ipam.db");
  const heard = Promise.withResolvers<void>();
  const onMalformed = () => heard.resolve();
  const datastore = cachedDatastore(openEmbedded(path), { kinds: EVERY_KIND, onMalformed });
  await datastore.synced();
  return {
    datastore,
    close: async () => {
      await datastore.close();
      rmSync(dir, { recursive: true });
    },
    putMalformed: async (name: string) => {
      const database = openDatabase(path);
      const metadata = { name, uid: "u" };
      const json = printJson({ apiVersion: "projectcalico.org/v3", kind: "IPAMHandle", metadata, spec: MALFORMED });
      new Tables(database, 100).put("ADDED", "IPAMHandle", { name, uid: "u", json });
      database.close();
      await heard.promise; // what a cache promises begins when the watch has delivered it
    },
  };
}

describeDatastoreContract("cached, over the embedded store", opened);

/** A store that counts its reads, and whose watch stands still between `hold` and `release`, or fails. */
class Lagging {
  readonly store = openEmbedded(":memory:");
  reads: string[] = [];
  failure: Error | undefined;
  watches = 0;
  #open = Promise.resolve();
  #release = () => {};
  #cut = () => {};

  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    this.#release = resolve;
  }
  release(): void {
    this.#release();
  }
  /** Ends the watches that stand. */
  cut(): void {
    this.#cut();
  }

  get datastore(): Datastore {
    const { store } = this;
    const base = {
      description: store.description,
      create: store.create.bind(store),
      update: store.update.bind(store),
      updateStatus: store.updateStatus.bind(store),
      delete: store.delete.bind(store),
      close: store.close.bind(store),
    };
    return {
      ...base,
      get: (kind, name, options) => {
        this.reads.push(`get ${kind} ${name}`);
        return store.get(kind, name, options);
      },
      list: (kind, options) => {
        this.reads.push(`list ${kind}`);
        return this.failure ? Promise.reject(this.failure) : store.list(kind, options);
      },
      watch: (kind, options) => this.#watch(kind, options),
    };
  }

  async *#watch<K extends Kind>(kind: K, options: { signal: AbortSignal }): AsyncGenerator<DatastoreEvent<K>> {
    this.watches += 1;
    const end = new AbortController();
    this.#cut = () => end.abort();
    const signal = AbortSignal.any([options.signal, end.signal]);
    for await (const event of this.store.watch(kind, { ...options, signal })) {
      await this.#open;
      yield event;
    }
  }
}

describe("one kind", () => {
  let behind: Lagging;
  let cached: CachedDatastore;
  let other: Datastore;
  const errors: unknown[] = [];
  const start = async (kind: Kind, options: Partial<CacheOptions> = {}) => {
    const signal = new AbortController().signal;
    const onError = (_kind: string, error: unknown) => errors.push(error);
    cached = cachedDatastore(behind.datastore, { kinds: [kind], signal, backoff: FAST, onError, ...options });
    await cached.synced();
    behind.reads = [];
  };
  /** What the cache asked the store since the last call. */
  const asked = () => behind.reads.splice(0);
  const readsOfList = async () => {
    asked();
    await cached.list("IPPool");
    return asked();
  };
  beforeEach(() => {
    behind = new Lagging();
    other = behind.store;
    errors.length = 0;
  });
  afterEach(() => {
    behind.release();
    return cached.close();
  });

  test("is read without asking the store", async () => {
    await other.create(blockOf("10.0.0.0/30"));
    await other.create(affinityOf("node-a", "10.0.0.0/30"));
    await start("IPAMBlock");
    expect((await cached.get("IPAMBlock", "10-0-0-0-30")).spec.cidr).toBe("10.0.0.0/30");
    expect(names((await cached.list("IPAMBlock")).items)).toEqual(["10-0-0-0-30"]);
    expect(asked()).toEqual([]);
    await cached.list("BlockAffinity");
    expect(asked()).toEqual(["list BlockAffinity"]);
  });

  test("follows what others write", async () => {
    await start("IPPool");
    const created = await other.create(poolOf("pool-a", "10.0.0.0/16"));
    await expect.poll(async () => names((await cached.list("IPPool")).items)).toEqual(["pool-a"]);
    await other.update(withSpec(created, { disabled: true }));
    await expect.poll(async () => (await cached.get("IPPool", "pool-a")).spec).toMatchObject({ disabled: true });
    await other.delete(await other.get("IPPool", "pool-a"));
    await expect.poll(async () => (await cached.list("IPPool")).items).toEqual([]);
    await expect(cached.get("IPPool", "pool-a")).rejects.toEqual(code("NotFound"));
    expect(asked()).toEqual([]);
  });

  test("shows this process's own writes at once", async () => {
    await start("IPAMBlock");
    behind.hold();
    const created = await cached.create(blockOf("10.0.0.0/30"));
    expect(await cached.get("IPAMBlock", "10-0-0-0-30")).toEqual(created);
    const updated = await cached.update(withSpec(created, { sequenceNumber: SEQUENCE + 1n }));
    expect(await cached.get("IPAMBlock", "10-0-0-0-30")).toEqual(updated);
    expect(asked()).toEqual([]);
    expect((await cached.list("IPAMBlock")).items).toEqual([updated]);
    await cached.delete(updated);
    expect((await cached.list("IPAMBlock")).items).toEqual([]);
    await expect(cached.get("IPAMBlock", "10-0-0-0-30")).rejects.toEqual(code("NotFound"));
  });

  test("a list to act on has own writes ahead of the watch, without a request; what is in doubt is asked for", async () => {
    await start("IPPool");
    const kept = await other.create(poolOf("kept", "10.0.0.0/16"));
    await expect.poll(async () => names((await cached.list("IPPool")).items)).toEqual(["kept"]);
    behind.hold();
    const own = await cached.create(poolOf("own", "10.1.0.0/16"));
    const gone = await cached.create(poolOf("gone", "10.2.0.0/16"));
    await cached.delete(gone);
    asked();
    const listed = async () => (await cached.list("IPPool", { atOneRevision: false })).items;
    expect(await listed()).toEqual([kept, own]);
    expect(asked()).toEqual([]);
    expect(await readsOfList()).toEqual(["list IPPool"]);
    await other.update(withSpec(kept, { disabled: true }));
    await expect(cached.update(withSpec(kept, { natOutgoing: true }))).rejects.toEqual(code("Conflict"));
    expect(await listed()).toMatchObject([{ spec: { disabled: true } }, own]);
    expect(asked()).toEqual(["get IPPool kept"]);
  });

  test("blocks of an owner are at hand, own writes at once, while nothing is in doubt", async () => {
    await other.create(blockOf("10.0.0.0/30"));
    await start("IPAMBlock");
    behind.hold();
    const own = await cached.create(blockOf("10.0.0.4/30"));
    await cached.create(blockOf("10.0.0.8/30", { affinity: "host:node-ab" }));
    expect(names(cached.blocksOf!("host:node-a") ?? [])).toEqual(["10-0-0-0-30", "10-0-0-4-30"]);
    await cached.delete(own);
    expect(names(cached.blocksOf!("host:node-a") ?? [])).toEqual(["10-0-0-0-30"]);
    await expect(cached.create(blockOf("10.0.0.0/30"))).rejects.toEqual(code("AlreadyExists"));
    expect(cached.blocksOf!("host:node-a")).toBeUndefined();
    expect(asked()).toEqual([]);
  });

  test("is not brought back by late news of what this process deleted", async () => {
    await start("IPPool");
    behind.hold();
    const created = await cached.create(poolOf("pool-a", "10.0.0.0/16"));
    await cached.delete(await cached.update(withSpec(created, { disabled: true })));
    const again = await cached.create(poolOf("pool-a", "10.0.0.0/16"));
    behind.release();
    await other.create(poolOf("pool-b", "10.1.0.0/16"));
    await expect.poll(async () => names((await cached.list("IPPool")).items)).toEqual(["pool-a", "pool-b"]);
    expect(await cached.get("IPPool", "pool-a")).toEqual(again);
    await expect.poll(readsOfList).toEqual([]);
  });

  test("after a lost race is read from the store, once", async () => {
    const block = await other.create(blockOf("10.0.0.0/30"));
    await start("IPAMBlock");
    behind.hold();
    const theirs = await other.update(withSpec(block, { sequenceNumber: SEQUENCE + 1n }));
    const stale = await cached.get("IPAMBlock", "10-0-0-0-30");
    await expect(cached.update(withSpec(stale, { sequenceNumber: SEQUENCE + 2n }))).rejects.toEqual(code("Conflict"));
    expect(await cached.get("IPAMBlock", "10-0-0-0-30")).toEqual(theirs);
    expect(await cached.get("IPAMBlock", "10-0-0-0-30")).toEqual(theirs);
    expect(asked()).toEqual(["get IPAMBlock 10-0-0-0-30"]);
  });

  test.each(["AlreadyExists", "NotFound"] as const)("after %s is read from the store", async (refusal) => {
    await start("IPAMBlock");
    behind.hold();
    const theirs = await other.create(blockOf("10.0.0.0/30"));
    if (refusal === "NotFound") await other.delete(theirs);
    const write = refusal === "NotFound" ? cached.update(theirs) : cached.create(blockOf("10.0.0.0/30"));
    await expect(write).rejects.toEqual(code(refusal));
    const { items } = await cached.list("IPAMBlock");
    expect(items).toEqual(refusal === "NotFound" ? [] : [theirs]);
  });

  test("a block, row or handle that is not known may be new; a missing pool or configuration is believed", async () => {
    await start("IPAMHandle", { kinds: ["IPAMHandle", "IPAMConfiguration"] });
    behind.hold();
    await other.create(handleOf("new"));
    await other.create(configurationOf());
    expect((await cached.get("IPAMHandle", "new")).spec.handleID).toBe("new");
    await expect(cached.get("IPAMConfiguration", "default")).rejects.toEqual(code("NotFound"));
    expect(asked()).toEqual(["get IPAMHandle new"]);
  });

  test("marked as deleted by this process is gone at once", async () => {
    const block = await other.create(blockOf("10.0.0.0/30"));
    await start("IPAMBlock");
    behind.hold();
    await cached.update(marked(block));
    expect((await cached.list("IPAMBlock")).items).toEqual([]);
    await expect(cached.get("IPAMBlock", "10-0-0-0-30")).rejects.toEqual(code("NotFound"));
  });

  test("is listed anew when its watch ends, and read from the store until then", async () => {
    await start("IPPool");
    behind.failure = new DatastoreError("Unavailable", "IPPool", "", "away");
    behind.cut();
    await expect.poll(() => errors).toContain(behind.failure);
    await other.create(poolOf("pool-a", "10.0.0.0/16"));
    expect((await cached.get("IPPool", "pool-a")).metadata.name).toBe("pool-a");
    expect(asked()).toContain("get IPPool pool-a");
    behind.failure = undefined;
    await expect.poll(() => behind.watches).toBe(2);
    asked();
    expect(names((await cached.list("IPPool")).items)).toEqual(["pool-a"]);
    expect(asked()).toEqual([]);
  });

  test("is read from the store once the signal has aborted", async () => {
    const end = new AbortController();
    await start("IPPool", { signal: end.signal });
    end.abort();
    await expect.poll(readsOfList).toEqual(["list IPPool"]);
  });

  test("ended before the first list: whoever waits is told", async () => {
    behind.failure = new DatastoreError("NotServed", "IPPool", "", "no such kind");
    const end = new AbortController();
    cached = cachedDatastore(behind.datastore, { kinds: ["IPPool"], signal: end.signal, backoff: FAST });
    const synced = cached.synced();
    end.abort();
    await expect(synced).rejects.toThrow("Stopped before IPPool could be listed");
  });
});
