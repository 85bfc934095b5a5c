/** A cached reader over a store that is replaced by an older state of itself, as by a restore of etcd. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "./cached.ts";
import { KindCache } from "./cached-kind.ts";
import { poolOf } from "./contract/objects.ts";
import { code, names, withSpec } from "./contract/store.ts";
import type { Datastore, Kind, WatchOptions } from "./datastore.ts";
import { openEmbedded } from "./embedded.ts";

/** A store of which `restore` makes another one; its watches stand, dead, until they are cut. */
class Restorable {
  store = openEmbedded(":memory:");
  reads: string[] = [];
  readonly #cuts = new Set<() => void>();

  /** Puts another store in its place, in which nothing but `pools` was ever written. */
  async restore(...pools: string[]): Promise<void> {
    this.store = openEmbedded(":memory:");
    for (const name of pools) await this.store.create(poolOf(name, "10.0.0.0/16"));
  }
  /** Cuts the watches; they go on when they may. */
  cut(): void {
    for (const cut of this.#cuts) cut();
  }

  get datastore(): Datastore {
    return {
      description: "restorable",
      get: (kind, name, options) => {
        this.reads.push(`get ${kind} ${name}`);
        return this.store.get(kind, name, options);
      },
      list: (kind, options) => {
        this.reads.push(`list ${kind}`);
        return this.store.list(kind, options);
      },
      glance: async (kind, name) => {
        const { items, revision } = await this.store.list(kind);
        return { revision, object: items.find(({ metadata }) => metadata.name === name)?.metadata };
      },
      create: (object, options) => this.store.create(object, options),
      update: (object, options) => this.store.update(object, options),
      updateStatus: (object, options) => this.store.updateStatus(object, options),
      delete: (object, options) => this.store.delete(object, options),
      watch: (kind, options) => this.#watch(kind, options),
      close: async () => {},
    };
  }

  async *#watch<K extends Kind>(kind: K, options: WatchOptions) {
    let { revision } = options;
    while (!options.signal.aborted) {
      const end = new AbortController();
      const cut = () => {
        options.onCut?.();
        end.abort();
      };
      this.#cuts.add(cut);
      const signal = AbortSignal.any([options.signal, end.signal]);
      for await (const event of this.store.watch(kind, { signal, ...(revision && { revision }) })) {
        yield event;
        revision = event.object.metadata.resourceVersion!;
      }
      this.#cuts.delete(cut);
      if (options.mayResume && !(await options.mayResume())) throw new Error("not to be resumed");
    }
  }
}

describe("a cached reader of a restored store", () => {
  let behind: Restorable;
  let cached: CachedDatastore;
  const wentBack: string[] = [];
  const errors: unknown[] = [];
  beforeEach(async () => {
    behind = new Restorable();
    for (const name of ["kept", "lost-1", "lost-2", "lost-3"]) await behind.store.create(poolOf(name, "10.0.0.0/16"));
    wentBack.length = 0;
    cached = cachedDatastore(behind.datastore, {
      kinds: ["IPPool", "IPReservation"],
      backoff: { baseMs: 1, maxMs: 1 },
      onError: (_kind, error) => errors.push(error),
      onWentBack: (held, found) => wentBack.push(`${held} to ${found}`),
    });
    await cached.synced();
    behind.reads = [];
  });
  afterEach(() => cached.close());
  const seen = async () => names((await cached.list("IPPool", { atOneRevision: false })).items);

  test("whose connection is dead asks for the revision, drops what it holds and says so", async () => {
    await behind.restore("kept");
    expect(await seen()).toEqual(["kept", "lost-1", "lost-2", "lost-3"]);
    await expect.poll(seen, { timeout: 9000 }).toEqual(["kept"]);
    expect(wentBack).toEqual(["4 to 1"]);
  });

  test("learns it from the answer to a write of its own", async () => {
    await behind.restore("kept");
    await cached.create(poolOf("own", "10.1.0.0/16"));
    expect(wentBack).toEqual(["4 to 2"]);
    expect(await seen()).toEqual(["kept", "own"]);
    await expect(cached.get("IPPool", "lost-1")).rejects.toEqual(code("NotFound"));
  });

  test("is not deceived by an update that changes nothing, which is answered with the old revision", async () => {
    await cached.update(await cached.get("IPPool", "kept"));
    expect(wentBack).toEqual([]);
  });

  test("learns it from any list of a kind that is not held", async () => {
    await behind.restore("kept");
    await cached.list("IPAMHandle");
    expect(wentBack).toEqual(["4 to 1"]);
    expect(await seen()).toEqual(["kept"]);
  });

  test("learns it from an object that is older than the one it holds", async () => {
    await behind.restore("lost-3");
    await expect(cached.update(withSpec(await cached.get("IPPool", "lost-3"), {}))).rejects.toThrow();
    await cached.get("IPPool", "lost-3");
    expect(wentBack).toHaveLength(1);
    expect(await seen()).toEqual(["lost-3"]);
  });

  test("answers nothing from what it holds between a cut and the look that follows", async () => {
    const held = await cached.get("IPPool", "kept");
    await behind.restore("kept");
    behind.cut();
    const read = await cached.get("IPPool", "kept");
    expect(read.metadata.resourceVersion).toBe(held.metadata.resourceVersion);
    expect(read.metadata.uid).not.toBe(held.metadata.uid);
    await expect.poll(() => wentBack).toEqual(["4 to 1"]);
    expect(await seen()).toEqual(["kept"]);
  });

  test("lists again after a cut where the store has caught up with what was read", async () => {
    await behind.restore("kept", "other-1", "other-2", "other-3", "other-4", "other-5");
    behind.cut();
    await expect.poll(seen).toEqual(["kept", "other-1", "other-2", "other-3", "other-4", "other-5"]);
    await expect.poll(() => behind.reads).toContain("list IPPool");
    await expect(cached.get("IPPool", "lost-1")).rejects.toEqual(code("NotFound"));
  });

  test("goes on after a cut without a list where the store is the one it was", async () => {
    behind.cut();
    await expect
      .poll(async () => {
        behind.reads = [];
        await cached.get("IPPool", "kept");
        return behind.reads;
      })
      .toEqual([]);
    expect(wentBack).toEqual([]);
    await behind.store.create(poolOf("new", "10.2.0.0/16"));
    await expect.poll(seen).toContain("new");
    expect(behind.reads).toEqual([]);
  });
});

test("an answer to what was asked before all was dropped is not kept", () => {
  const cache = new KindCache<"IPPool">();
  const pool = poolOf("pool-a", "10.0.0.0/16");
  const at = (resourceVersion: string) => ({ ...pool, metadata: { ...pool.metadata, uid: "u", resourceVersion } });
  cache.replace({ items: [at("5")], malformed: [], revision: "6" });
  cache.doubt("pool-a");
  const question = cache.ask("pool-a");
  cache.reset();
  cache.replace({ items: [], malformed: [], revision: "3" });
  cache.answer(question, at("5"));
  expect(cache.list({}).items).toEqual([]);
  expect(cache.knows("pool-a")).toBe(false);
});
