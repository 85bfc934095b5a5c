/**
 * Dies before and after every single write of every method: what is stored is sound at that moment, and whole again
 * after the next ordinary call of each host. Handle counts may stay too high: a collection pass restores those.
 */
import { describe, expect, test } from "vitest";
import { check } from "../../test/invariants/check.ts";
import { type Meddler, type World, windowsReserve, world } from "../../test/support/ipam.ts";

const A = { affinityType: "host", host: "host-a" } as const;
const ask = { intendedUse: "Workload", hostname: "host-a" } as const;
const assign = (w: World, ip: string, handleID = "h") => w.ipam.assignIP({ ip, handleID, hostname: "host-a" });
const cooled = { ipCooldownSeconds: 10 };

interface Case {
  readonly before?: (w: World) => Promise<unknown>;
  readonly call: (w: World) => Promise<unknown>;
}

const CASES: Record<string, Case> = {
  "autoAssign, first addresses of a host": {
    call: (w) => w.ipam.autoAssign({ ...ask, handleID: "h", num4: 6, num6: 1 }),
  },
  "autoAssign, from an own block": {
    before: (w) => assign(w, "10.0.0.1"),
    call: (w) => w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 }),
  },
  "autoAssign, taking over an empty block": {
    before: async (w) => {
      await w.ipam.claimAffinity("10.0.0.0/28", { affinityType: "host", host: "host-b" });
      w.pass(61);
    },
    call: (w) => w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 }),
  },
  "assignIP, in a new block": { call: (w) => assign(w, "10.0.0.1") },
  releaseIPs: {
    before: async (w) => {
      for (const ip of ["10.0.0.1", "10.0.0.2"]) await assign(w, ip);
    },
    call: (w) => w.ipam.releaseIPs([{ address: "10.0.0.1" }, { address: "10.0.0.2" }]),
  },
  "releaseIPs, the last of a block nobody owns": {
    before: async (w) => {
      await assign(w, "10.0.0.1");
      await w.ipam.releaseAffinity("10.0.0.0/30", "host-a", false);
    },
    call: (w) => w.ipam.releaseIPs([{ address: "10.0.0.1" }]),
  },
  "releaseByHandle, over two blocks": {
    before: async (w) => {
      for (const ip of ["10.0.0.1", "10.0.0.5"]) await assign(w, ip);
    },
    call: (w) => w.ipam.releaseByHandle("h"),
  },
  claimAffinity: { call: (w) => w.ipam.claimAffinity("10.0.0.0/29", A) },
  "releaseAffinity, of an empty and of a used block": {
    before: async (w) => {
      await w.ipam.claimAffinity("10.0.0.0/29", A);
      await assign(w, "10.0.0.5");
    },
    call: (w) => w.ipam.releaseAffinity("10.0.0.0/29", "host-a", false),
  },
  releaseHostAffinities: {
    before: (w) => w.ipam.claimAffinity("10.0.0.0/29", A),
    call: (w) => w.ipam.releaseHostAffinities(A, true),
  },
  releasePoolAffinities: {
    before: (w) => w.ipam.claimAffinity("10.0.0.0/29", A),
    call: (w) => w.ipam.releasePoolAffinities("10.0.0.0/28"),
  },
  releaseBlockAffinity: {
    before: (w) => w.ipam.claimAffinity("10.0.0.0/30", A),
    call: async (w) => w.ipam.releaseBlockAffinity(await w.block("10.0.0.0/30"), true),
  },
  ensureBlock: { call: (w) => w.ipam.ensureBlock({ hostname: "host-a", hostReservedAttrIPv4s: windowsReserve(1, 0) }) },
  garbageCollectColdIPs: {
    before: async (w) => {
      await w.ipam.setIPAMConfig(cooled);
      await assign(w, "10.0.0.1");
      await w.ipam.releaseByHandle("h");
      w.pass(11);
    },
    call: async (w) => w.ipam.garbageCollectColdIPs(cooled, await w.block("10.0.0.0/30")),
  },
  swapOwners: {
    before: async (w) => {
      for (const ip of ["10.0.0.1", "fd00::1"]) {
        await assign(w, ip);
        await w.ipam.setOwnerAttributes(ip, "h", { alternateOwnerAttrs: { namespace: "ns", pod: "p" } });
      }
    },
    call: (w) => w.ipam.swapOwners("h", { namespace: "ns", name: "p" }),
  },
};

/** From its `index`th write on the process is dead; that write itself took place or not. */
function dyingAt(index: number, tookPlace: boolean): Meddler {
  let writes = 0;
  return async ({ operation, object }, store) => {
    const isWrite = operation !== "get" && operation !== "list";
    if (writes > index || (isWrite && writes++ === index)) {
      if (tookPlace && isWrite && writes === index + 1) await store[operation](object as never);
      writes = index + 1;
      throw new Error("died");
    }
  };
}

async function prepared({ before }: Case): Promise<World> {
  const w = await world({
    pools: [
      ["10.0.0.0/28", 30],
      ["fd00::/124", 126],
    ],
    blockOrder: () => 0n,
  });
  await before?.(w);
  w.writes();
  return w;
}

describe("a crash", () => {
  test.each(Object.entries(CASES))("of %s", async (_, each) => {
    await using quiet = await prepared(each);
    await each.call(quiet);
    const writes = quiet.writes().length;
    expect(writes).toBeGreaterThan(0);
    for (let index = 0; index < writes; index++) {
      for (const tookPlace of [false, true]) await dieAndRecover(each, index, tookPlace);
    }
  });
});

async function dieAndRecover(each: Case, index: number, tookPlace: boolean): Promise<void> {
  await using w = await prepared(each);
  w.meddler = dyingAt(index, tookPlace);
  await each.call(w).catch(() => undefined);
  w.meddler = undefined;
  const where = `write ${index}, ${tookPlace ? "after" : "before"}`;
  expect([where, check(await w.stored(), { mode: "always", now: w.now })]).toEqual([where, []]);
  for (const hostname of ["host-a", "host-b"]) {
    await w.openIpam().autoAssign({ ...ask, hostname, handleID: `after-${hostname}`, num4: 1, num6: 1 });
  }
  const left = check(await w.stored(), { mode: "atRest", now: w.now });
  expect([where, left.filter(({ invariant }) => invariant !== 30 && invariant !== 32)]).toEqual([where, []]);
}
