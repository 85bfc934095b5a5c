/** What somebody else has done already, and an ordinary lost race, is no warning. */
import { expect, test } from "vitest";
import { world } from "../../test/support/ipam.ts";
import { affinity, block } from "../../test/support/ipam-data.ts";
import type { Datastore } from "../datastore/datastore.ts";

const ask = { hostname: "host-a", handleID: "h", intendedUse: "Workload", num4: 1 } as const;

test.each([
  ["of another size than its pool's blocks", "10.1.0.40/29"],
  ["with host bits", "10.1.0.41/27"],
])("an affinity %s that somebody else deletes first", async (_, cidr) => {
  await using w = await world({ pools: [["10.1.0.0/24", 27]] });
  await w.store.create(affinity("host-a", cidr));
  w.meddler = async ({ operation, kind, object }, store) => {
    if (operation === "delete" && kind === "BlockAffinity") await store.delete(object as never);
  };
  expect((await w.ipam.autoAssign(ask)).v4?.ips).toHaveLength(1);
  expect(w.warnings).toEqual([]);
});

test.each([
  ["of another size than its pool's blocks", "10.1.0.40/29", "is deleted: 10.1.0.40/29 is no block of its pool"],
  ["with host bits", "10.1.0.41/27", "is deleted: 10.1.0.41/27 is an address inside a block"],
])("an affinity %s that this call deletes is named", async (_, cidr, words) => {
  await using w = await world({ pools: [["10.1.0.0/24", 27]] });
  await w.store.create(affinity("host-a", cidr));
  await w.ipam.autoAssign(ask);
  expect(w.warnings).toEqual([expect.stringContaining(words)]);
});

test("an empty block without an affinity that two hosts release at once", async () => {
  await using w = await world({ pools: [["10.1.0.0/26", 26]] });
  const affinityClaimTime = "2026-01-02T03:00:00Z";
  await w.store.create(block("10.1.0.0/26", { affinity: "host:host-b", affinityClaimTime }));
  let isFirst = true;
  w.meddler = async ({ operation, kind, name }, store) => {
    if (operation !== "create" || kind !== "BlockAffinity" || !name.startsWith("host-b") || !isFirst) return;
    isFirst = false;
    await store.create(affinity("host-b", "10.1.0.0/26", { state: "pendingDeletion" }));
  };
  expect((await w.ipam.autoAssign(ask)).v4?.ips).toHaveLength(1);
  expect(isFirst).toBe(false);
  expect(w.warnings).toEqual([]);
});

test("a block that is gone before what its CRD forgot could be freed", async () => {
  await using w = await world({ pools: [["10.1.0.0/26", 26]] });
  await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
  await w.ipam.assignIP({ ip: "10.1.0.1", handleID: "h" });
  let writes = 0;
  const update: Datastore["update"] = async (object, options) => {
    const isSecond = ++writes === 2;
    if (isSecond) await w.store.delete(await w.block("10.1.0.0/26"));
    const attributes = [{}];
    return w.watched.update({ ...object, spec: { ...object.spec, attributes } } as typeof object, options);
  };
  const rehearse: Datastore["rehearse"] = async (object) => object;
  const ipam = w.openIpam({ datastore: { ...w.watched, update, rehearse } });
  await ipam.releaseIPs([{ address: "10.1.0.1" }]);
  expect(writes).toBe(2);
  expect(w.warnings.filter((warning) => warning.includes("stay allocated"))).toEqual([]);
});
