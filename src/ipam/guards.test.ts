/** What keeps a call from undoing what happened since it looked: revisions, and numbers, also 0. */
import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";

const A = { affinityType: "host", host: "host-a" } as const;

test("an empty block of nobody's out of which an address is taken meanwhile is not taken over", async () => {
  await using w = await world({ pools: [["10.0.0.0/30", 30]] });
  await w.ipam.claimAffinity("10.0.0.0/30", A);
  const { affinity: _, affinityClaimTime: __, ...unowned } = (await w.block("10.0.0.0/30")).spec;
  await w.ipam.removeIPAMHost(A);
  await w.put("IPAMBlock", "10-0-0-0-30", unowned);
  w.meddler = async ({ operation, kind }) => {
    if ((operation !== "get" && operation !== "delete") || kind !== "IPAMBlock") return;
    w.meddler = undefined;
    await w.openIpam().assignIP({ ip: "10.0.0.1", hostname: "host-b", handleID: "theirs" });
  };
  const { v4 } = await w.ipam.autoAssign({ num4: 4, intendedUse: "Workload", handleID: "ours" });
  expect(v4?.ips.toSorted()).toEqual(["10.0.0.0/30", "10.0.0.2/30", "10.0.0.3/30"]);
  expect(await w.ipam.ipsByHandle("theirs")).toEqual(["10.0.0.1"]);
});

test("0 is a number: it releases only what was allocated at 0", async () => {
  await using w = await world({ pools: [["10.0.0.0/30", 30]] });
  await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
  const late = w.ipam.releaseIPs([{ address: "10.0.0.1", sequenceNumber: 0n }]);
  expect(await errorOf(late)).toMatchObject({ code: "BadSequenceNumber" });
  expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.1"]);
});

test("a block in a pool that is disabled stays its host's, also where the pool would not select the node", async () => {
  const pools = [
    ["10.0.0.0/30", 30],
    ["10.1.0.0/30", 30],
  ] as const;
  await using w = await world({ pools, nodes: { "host-a": {} } });
  await w.ipam.claimAffinity("10.0.0.0/30", A);
  const pool = await w.store.get("IPPool", "pool0");
  await w.store.update({ ...pool, spec: { ...pool.spec, disabled: true, nodeSelector: "rack == '1'" } });
  const { v4 } = await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", handleID: "h" });
  expect(v4?.ips[0]).toMatch(/^10\.1\./);
  expect((await w.all("BlockAffinity")).map(({ spec }) => spec.cidr).sort()).toEqual(["10.0.0.0/30", "10.1.0.0/30"]);
});

test("a row whose block is gone is pending while the block is made: who looks meanwhile does not take it for a claim", async () => {
  await using w = await world({ pools: [["10.0.0.0/30", 30]] });
  await w.ipam.claimAffinity("10.0.0.0/30", A);
  await w.store.delete(await w.block("10.0.0.0/30"));
  w.writes();
  const states: string[] = [];
  w.meddler = async ({ operation, kind }) => {
    if (operation !== "create" || kind !== "IPAMBlock") return;
    states.push(...(await w.all("BlockAffinity")).map(({ spec }) => spec.state));
  };
  await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload" });
  expect(states).toEqual(["pending"]);
  expect((await w.all("BlockAffinity")).map(({ spec }) => spec.state)).toEqual(["confirmed"]);
});
