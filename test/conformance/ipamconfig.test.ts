/** The reference's configurations on the embedded store, which keeps no schema defaults. */
import { afterAll, beforeAll, describe } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { type ReplayTarget, replayConfigurations } from "./ipamconfig.ts";

let datastore: Datastore;
beforeAll(() => {
  datastore = openCopy(":memory:");
});
afterAll(() => datastore.close());

const configurations = async () => (await datastore.list("IPAMConfiguration")).items;

/** The recording of v3 shows the defaults that the API server filled in, and not the fields it pruned. */
const embedded: ReplayTarget = {
  datastore: () => datastore,
  clear: async () => {
    for (const object of await configurations()) await datastore.delete(object);
  },
  write: async (name, spec) => {
    await datastore.create({ apiVersion: "projectcalico.org/v3", kind: "IPAMConfiguration", metadata: { name }, spec });
    return true;
  },
  stored: async () => {
    const object = (await configurations()).find(({ metadata }) => metadata.name === "default");
    if (!object) return undefined;
    const { bogus: _, ...spec } = object.spec as Record<string, unknown>;
    return { strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 0, ...spec };
  },
  checksFields: false,
};

describe("recorded with v3", () => replayConfigurations("v3", embedded));
