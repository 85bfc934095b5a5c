/**
 * Whoever loses every race is told so after 100 of them, whichever object the race is about: no method ends in silence, and
 * none lets out what happened inside.
 */
import { describe, expect, test } from "vitest";
import { blockName } from "../../src/api/names.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { newBlock } from "../../src/ipam/block.ts";
import { parseCidr } from "../../src/net/cidr.ts";
import { errorOf, failing, type Meddler, type Operation, type World, windowsReserve, world } from "../support/ipam.ts";

const A = { affinityType: "host", host: "host-a" } as const;
const CIDR = "10.0.0.0/26";
const ask = { intendedUse: "Workload", hostname: "host-a", num4: 1 } as const;
const assigned = (w: World) => w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
const unowned = async (w: World) => {
  await assigned(w);
  await w.ipam.releaseAffinity(CIDR, "host-a", false);
};
const claimed = (w: World) => w.ipam.claimAffinity(CIDR, A);
const attrs = { alternateOwnerAttrs: { pod: "p", namespace: "n" } };

interface Case {
  readonly before?: (w: World) => Promise<unknown>;
  readonly call: (w: World) => Promise<unknown>;
  /** What someone else always writes first. */
  readonly loses: readonly (readonly [Operation, IpamKind])[];
}

const ALLOCATING = [
  ["update", "BlockAffinity"],
  ["update", "IPAMBlock"],
  ["update", "IPAMHandle"],
] as const;
const GIVING_UP = [
  ["update", "BlockAffinity"],
  ["update", "IPAMBlock"],
  ["delete", "BlockAffinity"],
] as const;

const CASES: Readonly<Record<string, Case>> = {
  autoAssign: {
    before: (w) => handle(w),
    call: (w) => w.ipam.autoAssign({ ...ask, handleID: "h" }),
    loses: ALLOCATING,
  },
  "autoAssign, the empty block of another": {
    before: async (w) => {
      await w.ipam.claimAffinity("10.0.0.0/24", { ...A, host: "host-b" });
      w.pass(61);
    },
    call: (w) => w.ipam.autoAssign({ ...ask, handleID: "h" }),
    loses: [["update", "IPAMBlock"]],
  },
  assignIP: { before: (w) => handle(w), call: assigned, loses: ALLOCATING },
  releaseIPs: {
    before: assigned,
    call: (w) => w.ipam.releaseIPs([{ address: "10.0.0.1" }]),
    loses: [["update", "IPAMBlock"]],
  },
  "releaseIPs, the last of nobody's block": {
    before: unowned,
    call: (w) => w.ipam.releaseIPs([{ address: "10.0.0.1" }]),
    loses: [["delete", "IPAMBlock"]],
  },
  releaseByHandle: { before: assigned, call: (w) => w.ipam.releaseByHandle("h"), loses: [["update", "IPAMBlock"]] },
  "releaseByHandle, the last of nobody's block": {
    before: unowned,
    call: (w) => w.ipam.releaseByHandle("h"),
    loses: [["delete", "IPAMBlock"]],
  },
  claimAffinity: { call: claimed, loses: [["update", "BlockAffinity"]] },
  releaseAffinity: { before: assigned, call: (w) => w.ipam.releaseAffinity(CIDR, "host-a", false), loses: GIVING_UP },
  releaseHostAffinities: { before: assigned, call: (w) => w.ipam.releaseHostAffinities(A, false), loses: GIVING_UP },
  releasePoolAffinities: {
    before: assigned,
    call: (w) => w.ipam.releasePoolAffinities("10.0.0.0/24"),
    loses: GIVING_UP,
  },
  releaseBlockAffinity: {
    before: claimed,
    call: async (w) => w.ipam.releaseBlockAffinity(await w.block(CIDR), true),
    loses: [["delete", "IPAMBlock"]],
  },
  removeIPAMHost: { before: claimed, call: (w) => w.ipam.removeIPAMHost(A), loses: [["delete", "IPAMBlock"]] },
  ensureBlock: {
    call: (w) => w.ipam.ensureBlock({ hostname: "host-a", hostReservedAttrIPv4s: windowsReserve(3, 1) }),
    loses: [["update", "BlockAffinity"]],
  },
  setOwnerAttributes: {
    before: assigned,
    call: (w) => w.ipam.setOwnerAttributes("10.0.0.1", "h", attrs),
    loses: [["update", "IPAMBlock"]],
  },
  swapOwners: {
    before: async (w) => {
      await assigned(w);
      await w.ipam.setOwnerAttributes("10.0.0.1", "h", attrs);
    },
    call: (w) => w.ipam.swapOwners("h", { name: "p", namespace: "n" }),
    loses: [["update", "IPAMBlock"]],
  },
  setIPAMConfig: {
    before: (w) => w.ipam.setIPAMConfig({ ipCooldownSeconds: 1 }),
    call: (w) => w.ipam.setIPAMConfig({ ipCooldownSeconds: 2 }),
    loses: [["update", "IPAMConfiguration"]],
  },
};

/** The handle exists, so that its count is raised by an update. */
const handle = (w: World) => w.ipam.assignIP({ ip: "10.0.0.200", hostname: "host-b", handleID: "h" });

const all = Object.entries(CASES).flatMap(([name, { loses, ...rest }]) =>
  loses.map(([operation, kind]) => ({ name, operation, kind, ...rest })),
);

const exhausted = {
  name: "IpamError",
  code: "MaxRetries",
  class: "stop-and-re-evaluate",
  message: "Max retries hit - excessive concurrent IPAM requests",
  details: [expect.stringMatching(/^[a-z].*: another writer was first 100 times/)],
};

describe("100 lost races", { timeout: 120_000 }, () => {
  test.concurrent.each(all)("$name, each $operation of $kind", async ({ operation, kind, before, call }) => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
    await before?.(w);
    const counts = (await w.all("IPAMHandle")).map(({ spec }) => spec.block);
    w.meddler = failing(operation, kind, "Conflict");
    expect(await errorOf(call(w))).toMatchObject(exhausted);
    expect((await w.all("IPAMHandle")).map(({ spec }) => spec.block)).toEqual(counts);
  });

  test.concurrent.each<[string, (w: World) => Promise<unknown>]>([
    ["autoAssign", (w) => w.ipam.autoAssign({ ...ask, handleID: "h" })],
    ["assignIP", assigned],
    ["ensureBlock", (w) => w.ipam.ensureBlock({ hostname: "host-a", hostReservedAttrIPv4s: windowsReserve(3, 1) })],
  ])("%s, each block made first, and given up again, by another host", async (_, call) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    w.meddler = alwaysFirst();
    expect(await errorOf(call(w))).toMatchObject(exhausted);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test.concurrent("a count that cannot be lowered costs no address: it is told", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]] });
    await assigned(w);
    w.meddler = failing("delete", "IPAMHandle", "Conflict");
    await w.ipam.releaseIPs([{ address: "10.0.0.1" }]);
    expect(w.warnings).toEqual([expect.stringContaining("handle h counts 1 too many in 10.0.0.0/26")]);
  });
});

/** Another host has made the block when ours is about to, and is gone when anyone looks for what is free. */
function alwaysFirst(): Meddler {
  const block = newBlock({
    cidr: parseCidr(CIDR)!,
    affinity: "host:host-b",
    claimTime: new Date(0),
    sequenceNumber: 1n,
  });
  let looks = 0;
  return async ({ operation, kind }, store) => {
    if (kind !== "IPAMBlock") return;
    if (operation === "create") {
      looks = 0;
      await store.create(block);
    } else if (++looks > 1) {
      await store.get("IPAMBlock", blockName(CIDR)).then(
        (stored) => store.delete(stored),
        () => undefined,
      );
    }
  };
}
