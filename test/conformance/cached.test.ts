/** The reference's scenarios through the library of a long-lived process, whose reads come from watch-fed caches. */
import { afterEach } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { replayScenarios } from "./replay.ts";

let store: CachedDatastore;
afterEach(() => store.close());
const open = async () => {
  store = cachedDatastore(openEmbedded(":memory:"));
  await store.synced();
  return store;
};

replayScenarios("v1", open);
replayScenarios("v3", open);
