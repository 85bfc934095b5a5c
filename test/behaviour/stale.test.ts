/** Cached reads over the embedded store, whose watch says nothing. */
import { once } from "node:events";
import { afterEach } from "vitest";
import { cachedDatastore } from "../../src/datastore/cached.ts";
import type { Datastore, DatastoreEvent, Kind, WatchOptions } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { describeStaleReads } from "./stale-reads.ts";

const caches: Datastore[] = [];
afterEach(() => Promise.all(caches.splice(0).map((cache) => cache.close())));

/** The same store behind a line that carries no news. */
function silent(store: Datastore): Datastore {
  const watch = <K extends Kind>(_kind: K, { signal }: WatchOptions): AsyncIterable<DatastoreEvent<K>> => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (!signal.aborted) await once(signal, "abort");
        return { done: true, value: undefined };
      },
    }),
  });
  return {
    description: store.description,
    get: store.get.bind(store),
    list: store.list.bind(store),
    create: store.create.bind(store),
    update: store.update.bind(store),
    updateStatus: store.updateStatus.bind(store),
    delete: store.delete.bind(store),
    watch,
    close: async () => {},
  };
}

describeStaleReads("embedded", async () => {
  const store = openEmbedded(":memory:");
  caches.push(store);
  const stalled = async () => {
    const cache = cachedDatastore(silent(store));
    caches.unshift(cache);
    await cache.synced();
    return cache;
  };
  return { store, stalled };
});
