/** Calico's table of crash points, row by row: what is left behind, and what the next call makes of it. */
import { describe, expect, test } from "vitest";
import { check } from "../../test/invariants/check.ts";
import { errorOf, failing, storeError, type World, windowsReserve, world } from "../../test/support/ipam.ts";
import { blockName } from "../api/names.ts";
import { cachedDatastore } from "../datastore/cached.ts";
import { DatastoreError } from "../datastore/datastore.ts";
import type { Ipam } from "./client.ts";

const A = { affinityType: "host", host: "host-a" } as const;
const small = { pools: [["10.0.0.0/24", 26]] } as const;
const rows = async (w: World) =>
  (await w.all("BlockAffinity")).map(({ spec }) => `${spec.node} ${spec.cidr} ${spec.state}`);

describe("crashes", () => {
  test.each([
    ["after the row", "create", "IPAMBlock"],
    ["after the block", "update", "BlockAffinity"],
  ] as const)("a claim that ended %s is finished by the host's next call", async (_, operation, kind) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing(operation, kind, "Unavailable", 1);
    await errorOf(w.ipam.claimAffinity("10.0.0.0/26", A));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pending"]);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
    expect((await w.block("10.0.0.0/26")).spec.affinity).toBe("host:host-a");
  });

  test.each([
    ["before the block was deleted", "delete", "IPAMBlock"],
    ["before the row was deleted", "delete", "BlockAffinity"],
  ] as const)("a release that ended %s is undone or finished by the next call", async (_, operation, kind) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    w.meddler = failing(operation, kind, "Unavailable", 1);
    await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pendingDeletion"]);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("a row whose block lost its owner goes with the host's next call", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    w.meddler = failing("delete", "BlockAffinity", "Unavailable", 1);
    await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", false));
    expect((await w.block("10.0.0.0/26")).spec).not.toHaveProperty("affinity");
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual([]);
  });

  test("a row that is confirmed again makes whoever was about to delete its block lose", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    w.meddler = failing("delete", "IPAMBlock", "Unavailable", 1);
    await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true));
    const aboutToDelete = await w.block("10.0.0.0/26");
    w.writes();
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    expect(w.writes()).toEqual([
      "create BlockAffinity",
      "update BlockAffinity",
      "update IPAMBlock",
      "update BlockAffinity",
    ]);
    await expect(w.store.delete(aboutToDelete)).rejects.toMatchObject({ code: "Conflict" });
  });

  test("T61: a row without a block is removed by releaseHostAffinities", async () => {
    await using w = await world(small);
    for (const state of ["pending", "confirmed", "pendingDeletion"] as const) {
      await w.store.create({
        apiVersion: "projectcalico.org/v3",
        kind: "BlockAffinity",
        metadata: { name: "host-a-10-0-0-0-26" },
        spec: { state, node: "host-a", type: "host", cidr: "10.0.0.0/26", deleted: false },
      });
      await w.ipam.releaseHostAffinities(A, true);
      expect(await rows(w)).toEqual([]);
    }
  });

  test("a row that is removed while its block is made is made again", async () => {
    await using w = await world(small);
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "create" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.releaseHostAffinities(A, true);
    };
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("an empty block whose owner has no row is taken over", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    await w.store.delete((await w.all("BlockAffinity"))[0]!);
    w.pass(61);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-b" });
    expect(await rows(w)).toEqual(["host-b 10.0.0.0/26 confirmed"]);
  });
});

/** At rest nothing may be found, whatever happened before. */
const findings = async (w: World) => check(await w.stored(), { mode: "atRest", now: w.now });

/** Calls a process that has its host's blocks at hand: the embedded store has them, of an API server a cache. */
async function atHand(w: World, call: (ipam: Ipam) => Promise<unknown>): Promise<void> {
  if (w.watched.blocksOf) {
    await call(w.ipam);
    return;
  }
  const cache = cachedDatastore({ ...w.watched, close: async () => {} });
  await cache.synced();
  await call(w.openIpam({ datastore: cache })).finally(() => cache.close());
}

/** Calls a process that sees all blocks or none: one that lives shortly, on an API server. */
function nothingAtHand(w: World): Ipam {
  const { blocksOf: _, ...datastore } = w.watched;
  return w.openIpam({ datastore });
}

/**
 * Two claims of one host on one block. The second has the row, and makes the block only when the first has made it, taken
 * and released its one address and given it up again; then it dies. What stays is a block of host-a that no row names.
 */
async function lostBlock(w: World, cidr: string): Promise<void> {
  w.meddler = async ({ operation, kind }) => {
    if (operation !== "create" || kind !== "IPAMBlock") return;
    w.meddler = undefined;
    const first = w.openIpam();
    await first.assignIP({ ip: cidr.split("/")[0]!, hostname: "host-a", handleID: "first" });
    await first.releaseByHandle("first");
    await first.releaseAffinity(cidr, "host-a", true);
    w.meddler = ({ operation, kind, name }) => {
      if (operation === "update" && kind === "BlockAffinity")
        throw new DatastoreError("Unavailable", kind, name, "died");
    };
  };
  await errorOf(w.openIpam().claimAffinity(cidr, A));
  w.meddler = undefined;
  const found = await findings(w);
  expect(new Set(found.map(({ invariant }) => invariant))).toEqual(new Set([23]));
  expect(found.map(({ object }) => object)).toContain(`IPAMBlock ${blockName(cidr)}`);
}

describe("a row left pending", () => {
  test("is confirmed by a host that only ever calls assignIP", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing("update", "BlockAffinity", "Unavailable", 1);
    await errorOf(w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" }));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pending"]);
    await w.ipam.assignIP({ ip: "10.0.0.2", hostname: "host-b" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pending"]);
    await w.ipam.assignIP({ ip: "10.0.0.3", hostname: "host-a" });
    expect([await rows(w), await findings(w)]).toEqual([["host-a 10.0.0.0/26 confirmed"], []]);
    w.writes();
    await w.ipam.assignIP({ ip: "10.0.0.4", hostname: "host-a" });
    expect(w.writes()).toEqual(["update IPAMBlock"]);
  });

  test("of a pool that no longer selects the node is confirmed while its block is in use", async () => {
    const nodes = { "host-a": { rack: "1" }, "host-b": { rack: "1" } };
    const pools = [
      ["10.0.0.0/30", 30, { nodeSelector: "rack == '1'" }],
      ["10.1.0.0/24", 30],
    ] as const;
    await using w = await world({ pools, nodes });
    w.meddler = failing("update", "BlockAffinity", "Unavailable", 1);
    await errorOf(w.ipam.claimAffinity("10.0.0.0/30", A));
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-b", handleID: "h" });
    Object.assign(w.nodes, { "host-a": {} });
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await findings(w)).toEqual([]);
    await w.ipam.releaseByHandle("h");
    expect(await rows(w)).toEqual([expect.stringMatching("host-a 10.1.0.")]);
  });
});

describe("a block that no row names", () => {
  const CIDR = "10.0.0.4/30";
  const pools = [
    ["10.0.0.0/28", 30],
    ["fd00::/124", 126],
  ] as const;
  const ask = { intendedUse: "Workload", hostname: "host-a" } as const;
  const ensure = { hostname: "host-a", hostReservedAttrIPv4s: windowsReserve(1, 0) };

  test.each<[string, (w: World) => Promise<unknown>]>([
    ["autoAssign that needs no block", (w) => atHand(w, (ipam) => ipam.autoAssign({ ...ask, num4: 1 }))],
    ["autoAssign that claims one", (w) => nothingAtHand(w).autoAssign({ ...ask, num4: 5 })],
    [
      "autoAssign that may claim none",
      (w) =>
        nothingAtHand(w)
          .autoAssign({ ...ask, num4: 5, maxBlocksPerHost: 1 })
          .catch(() => {}),
    ],
    ["ensureBlock", (w) => atHand(w, (ipam) => ipam.ensureBlock(ensure))],
    ["assignIP in it", (w) => w.ipam.assignIP({ ip: "10.0.0.5", hostname: "host-a" })],
    ["claimAffinity", (w) => w.ipam.claimAffinity(CIDR, A)],
    ["releaseAffinity", (w) => w.ipam.releaseAffinity(CIDR, "host-a", true)],
    ["releaseBlockAffinity", async (w) => w.ipam.releaseBlockAffinity(await w.block(CIDR), true)],
    ["releaseHostAffinities", (w) => w.ipam.releaseHostAffinities(A, false)],
    ["releasePoolAffinities", (w) => w.ipam.releasePoolAffinities("10.0.0.0/28")],
    ["removeIPAMHost", (w) => w.ipam.removeIPAMHost(A)],
  ])("is put right by its owner's next call: %s", async (_, call) => {
    await using w = await world({ pools, blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    await lostBlock(w, CIDR);
    await call(w);
    expect(await findings(w)).toEqual([]);
  });

  test("in use, it stays its owner's; empty, it is given up", async () => {
    await using w = await world({ pools, blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    await lostBlock(w, "10.0.0.8/30");
    await lostBlock(w, CIDR);
    await w.ipam.assignIP({ ip: "10.0.0.9", hostname: "host-b", handleID: "h" });
    await atHand(w, (ipam) => ipam.autoAssign({ ...ask, num4: 1 }));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/30 confirmed", "host-a 10.0.0.8/30 confirmed"]);
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.9"]);
  });

  test("no call that the host's blocks suffice for lists all blocks to find it", async () => {
    await using w = await world({ pools, blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    await lostBlock(w, CIDR);
    w.calls.splice(0);
    const ipam = nothingAtHand(w);
    await ipam.autoAssign({ ...ask, num4: 1, handleID: "h" });
    await ipam.ensureBlock(ensure);
    await ipam.releaseByHandle("h");
    const lists = w.calls.filter(({ operation }) => operation === "list").map(({ kind }) => kind);
    expect(lists).not.toContain("IPAMBlock");
    expect(lists).toContain("BlockAffinity");
  });

  test("found in use while one is claimed, it counts, and its addresses are taken first", async () => {
    await using w = await world({ pools, blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 4, handleID: "own" });
    await lostBlock(w, "10.0.0.8/30");
    await w.ipam.assignIP({ ip: "10.0.0.9", hostname: "host-b", handleID: "h" });
    const asking = { ...ask, maxBlocksPerHost: 2, handleID: "more" };
    const { v4 } = await nothingAtHand(w).autoAssign({ ...asking, num4: 3 });
    expect(v4?.ips).toEqual(["10.0.0.8/30", "10.0.0.10/30", "10.0.0.11/30"]);
    expect(await errorOf(nothingAtHand(w).autoAssign({ ...asking, num4: 1 }))).toMatchObject({ code: "BlockLimit" });
    expect(await findings(w)).toEqual([]);
  });

  test("found in a pool that the call may not draw from, it is put right, and not drawn from", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/30", 30],
        ["10.1.0.0/29", 30],
        ["10.2.0.0/30", 30, { allowedUses: ["Tunnel"] }],
      ],
    });
    await w.ipam.autoAssign({ ...ask, num4: 4 });
    await lostBlock(w, "10.2.0.0/30");
    await w.ipam.assignIP({ ip: "10.2.0.1", hostname: "host-b" });
    const { v4 } = await nothingAtHand(w).autoAssign({ ...ask, num4: 6 });
    expect(v4?.ips.map((ip) => ip.slice(0, 5))).toEqual(Array(6).fill("10.1."));
    expect(await findings(w)).toEqual([]);
  });

  test("one whose row cannot be read stops nothing", async () => {
    await using w = await world({ pools, blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    await lostBlock(w, CIDR);
    w.meddler = (call) => {
      if (call.kind === "BlockAffinity" && call.name.endsWith("10-0-0-4-30")) throw storeError("Invalid", call);
    };
    for (const num4 of [1, 5]) {
      const { v4 } = await w.ipam.autoAssign({ ...ask, num4 });
      expect(v4?.ips).toHaveLength(num4);
    }
  });
});
