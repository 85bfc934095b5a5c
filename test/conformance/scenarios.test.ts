/** The reference's scenarios on the embedded store. */
import { afterEach } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { replayScenarios } from "./replay.ts";

let store: Datastore;
afterEach(() => store.close());
const open = async () => {
  store = openEmbedded(":memory:");
  return store;
};

replayScenarios("v1", open);
replayScenarios("v3", open);
