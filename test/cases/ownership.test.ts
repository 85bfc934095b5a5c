/** Cases of rows that say who owns which block: stuck, older than their fields, or named like another owner. */
import { describe, expect, test } from "vitest";
import type { BlockAffinitySpec } from "../../src/api/v3.ts";
import { check } from "../invariants/check.ts";
import { type World, world } from "../support/ipam.ts";
import { affinity, block } from "../support/ipam-data.ts";

const CIDR = "10.0.0.0/29";
const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;
const rows = async (w: World) => (await w.all("BlockAffinity")).map(({ spec }) => `${spec.state} ${spec.type}`);

/** A pool with one block of node-a, whose row is as an older writer left it. */
async function withRow(spec: Partial<BlockAffinitySpec>, labels?: Record<string, string>): Promise<World> {
  const w = await world({ pools: [["10.0.0.0/28", 29]], blockOrder: () => 1n });
  await w.store.create(block(CIDR, { affinity: "host:node-a" }));
  const row = affinity("node-a", CIDR, spec);
  await w.store.create(labels ? { ...row, metadata: { ...row.metadata, labels } } : row);
  return w;
}
const findings = async (w: World) => check(await w.stored(), { mode: "atRest", now: w.now });

describe("BLK-08: a row left in pendingDeletion, without a block", () => {
  async function stuck(): Promise<World> {
    const w = await withRow({ state: "pendingDeletion" });
    await w.store.delete(await w.block(CIDR));
    return w;
  }

  test("is confirmed again by its node's next pod", async () => {
    await using w = await stuck();
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.0.0/29"]);
    expect([await rows(w), await findings(w)]).toEqual([["confirmed host"], []]);
  });

  test.each([
    ["releaseHostAffinities", (w: World) => w.ipam.releaseHostAffinities(owner, true)],
    ["removeIPAMHost", (w: World) => w.ipam.removeIPAMHost(owner)],
    ["releaseAffinity", (w: World) => w.ipam.releaseAffinity(CIDR, "node-a", true)],
    ["releasePoolAffinities", (w: World) => w.ipam.releasePoolAffinities("10.0.0.0/28")],
  ])("is removed by %s", async (_, call) => {
    await using w = await stuck();
    await call(w);
    expect(await rows(w)).toEqual([]);
  });
});

describe("BLK-10: a row without a type is a host's", () => {
  test("its block is used, and the first write gives it the type", async () => {
    await using w = await withRow({ type: undefined, state: "pending" });
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.0.0/29"]);
    expect(await rows(w)).toEqual(["confirmed host"]);
  });

  test("it goes with its node, also where the pool is gone", async () => {
    await using w = await withRow({ type: undefined });
    for (const pool of await w.all("IPPool")) await w.store.delete(pool);
    await w.ipam.removeIPAMHost(owner);
    expect([...(await rows(w)), ...(await w.all("IPAMBlock"))]).toEqual([]);
  });

  test("one from before labels is found once its host was upgraded", async () => {
    await using w = await withRow({ type: undefined }, {});
    await w.ipam.upgradeHost("node-a");
    expect(await rows(w)).toEqual(["confirmed host"]);
    await w.ipam.removeIPAMHost(owner);
    expect(await rows(w)).toEqual([]);
  });
});

describe("BLK-11: a row without a state is confirmed", () => {
  test("its half empty block is used, and no new one claimed", async () => {
    await using w = await withRow({ state: "" });
    expect((await w.ipam.autoAssign({ ...ask, num4: 8 })).v4?.ips).toHaveLength(8);
    expect(await w.all("IPAMBlock")).toHaveLength(1);
  });

  test("where its block names another host, it is not", async () => {
    await using w = await withRow({ state: "" });
    const stored = await w.block(CIDR);
    await w.store.update({ ...stored, spec: { ...stored.spec, affinity: "host:node-b" } });
    await w.store.create(affinity("node-b", CIDR));
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.0.8/29"]);
    expect(await findings(w)).toEqual([]);
  });
});

test("a virtual owner named like a node is not that node", async () => {
  await using w = await world({ pools: [["10.0.0.0/28", 29]] });
  await w.store.create(block(CIDR, { affinity: "virtual:node-a" }));
  await w.store.create(affinity("node-a", CIDR, { type: "virtual" }));
  await w.ipam.removeIPAMHost(owner);
  expect(await rows(w)).toEqual(["confirmed virtual"]);
  expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.0.8/29"]);
});
