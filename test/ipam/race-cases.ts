/** Each method that writes, what it needs to have something to write, and the writes that others can be faster with. */
import type { IpamKind } from "../../src/api/v3.ts";
import { type Operation, type World, windowsReserve } from "../support/ipam.ts";

const A = { affinityType: "host", host: "host-a" } as const;
export const CIDR = "10.0.0.0/26";
export const ask = { intendedUse: "Workload", hostname: "host-a", num4: 1 } as const;
export const assigned = (w: World) => w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
const unowned = async (w: World) => {
  await assigned(w);
  await w.ipam.releaseAffinity(CIDR, "host-a", false);
};
const claimed = (w: World) => w.ipam.claimAffinity(CIDR, A);
const attrs = { alternateOwnerAttrs: { pod: "p", namespace: "n" } };

export interface Case {
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

export const CASES: Readonly<Record<string, Case>> = {
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
