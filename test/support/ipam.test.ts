/** The kit itself: whatever the library's tests read is frozen through and through, so that no change in place is missed. */
import { expect, test } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { Cluster } from "../ipam/cluster.ts";
import { FaultyProcess } from "../ipam/faulty.ts";
import { deepFrozen, world } from "./ipam.ts";
import { affinity, configuration, handle, pool, reservation, usedBlock } from "./ipam-data.ts";

const OBJECTS = [
  usedBlock("10.0.0.0/30", "host-a", { 1: { handle_id: "h", secondary: { pod: "p" } } }),
  affinity("host-a", "10.0.0.0/30"),
  handle("h", { "10.0.0.0/30": 1 }),
  configuration({ strictAffinity: true }),
  pool("p", "10.0.0.0/24", { allowedUses: ["Workload"] }),
  reservation("r", "10.0.0.0/31"),
];

/** Paths of what is not frozen. */
function loose(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, each]) => loose(each, `${path}.${name}`));
  return Object.isFrozen(value) ? inner : [path, ...inner];
}

test("a value that is frozen only outside is found, and is frozen inside too", () => {
  const value = () => Object.freeze({ a: [{ b: {} }], c: 1n });
  expect(loose(value())).toEqual([".a", ".a.0", ".a.0.b"]);
  expect(loose(deepFrozen(value()))).toEqual([]);
});

async function expectFrozen(store: Datastore): Promise<void> {
  for (const object of OBJECTS) {
    const { kind, metadata } = object;
    const created = await store.create(object as never);
    const read = await store.get(kind, metadata.name);
    const updated = await store.update(read as never);
    for (const each of [created, read, updated, await store.list(kind)]) expect(loose(each)).toEqual([]);
  }
}

test("the stores of the tests beside the library, as they see them and as the library does", async () => {
  await using w = await world();
  await expectFrozen(w.watched);
  expect([loose(await w.block("10.0.0.0/30")), loose((await w.all("IPPool"))[0])]).toEqual([[], []]);
});

test("the store of crashes and histories, as a process sees it", async () => {
  await using cluster = new Cluster();
  await expectFrozen(new FaultyProcess().datastore(cluster.store));
});
