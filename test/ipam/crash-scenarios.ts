/** For each public method, calls that write in every way it can: what was there before, and the call itself. */
import { affinity, reservation } from "../support/ipam-data.ts";
import { call, type Invocation, type Method } from "./calls.ts";
import type { Cluster } from "./cluster.ts";
import {
  A,
  ALTERNATE,
  addressesOf,
  assign,
  B,
  before,
  claim,
  collectCold,
  cooldown,
  FOUR,
  giveUp,
  inDeselectedPool,
  owner,
  releaseOf,
  setVm,
  TARGET,
  VM,
  withCold,
  workload,
} from "./crash-setup.ts";

export interface Scenario {
  readonly name: string;
  readonly before?: (cluster: Cluster) => Promise<void>;
  readonly call: (cluster: Cluster) => Promise<Invocation> | Invocation;
  /**
   * The ordinary calls of which each recovers by itself: the same call `again`, or the `hosts`' next autoAssign, one per
   * host. Default: either.
   */
  readonly recoveredBy?: readonly ("again" | "hosts")[];
}

export const SCENARIOS: Readonly<Record<Method, readonly Scenario[]>> = {
  autoAssign: [
    { name: "claims a block per family", call: () => assign(2, { num6: 1, handleID: "h1" }) },
    {
      name: "takes from the host's own block",
      before: before(assign(1, { handleID: "h1" })),
      call: () => assign(2, { handleID: "h1" }),
    },
    { name: "takes more than one block has", call: () => assign(6, { handleID: "h1" }) },
    { name: "borrows", before: before(claim(B)), call: () => assign(2, { handleID: "h1" }) },
    {
      name: "borrows from a block without an owner",
      before: before(
        assign(4, { handleID: "h0" }),
        giveUp(A),
        call("claimAffinity", FOUR, owner(B)),
        call("releaseByHandle", "h0"),
      ),
      call: () => assign(5, { handleID: "h1" }),
    },
    {
      name: "takes over another host's empty block",
      before: async (cluster) => {
        await cluster.prepare(call("setIPAMConfig", { strictAffinity: true }), claim(B));
        cluster.pass(61);
      },
      call: () => assign(1, { handleID: "h1" }),
      recoveredBy: ["hosts"],
    },
    {
      name: "gives up an empty block of a pool that no longer selects the node",
      before: async (cluster) => {
        await inDeselectedPool(cluster);
        cluster.nodes.set(A, { zone: "z" });
        await cluster.prepare(call("releaseByHandle", "h1"));
        cluster.nodes.set(A, {});
      },
      call: () => assign(1, { handleID: "h2", ipv4Pools: [], ipv6Pools: [] }),
    },
    {
      name: "under a maximum",
      call: () => call("autoAssign", { ...workload, ...VM, num4: 1, num6: 1 }),
      recoveredBy: ["hosts"],
    },
    {
      name: "for load balancers",
      call: () => assign(1, { hostname: "load-balancer", intendedUse: "LoadBalancer" }),
      recoveredBy: ["again"],
    },
    {
      name: "around a reservation",
      before: async ({ store }) => void (await store.create(reservation("r", "10.0.0.0/31", "10.0.0.4/31"))),
      call: () => assign(3, { handleID: "h1" }),
    },
    {
      name: "collects what has cooled down",
      before: async (cluster) => {
        await cluster.prepare(cooldown(5), assign(8, { handleID: "h1" }), call("releaseByHandle", "h1"));
        cluster.pass(6);
      },
      call: () => assign(3, { handleID: "h2" }),
    },
  ],
  assignIP: [
    {
      name: "claims the block",
      call: () => call("assignIP", { ip: "10.0.0.5", hostname: A, handleID: "h1" }),
    },
    {
      name: "in the host's own block",
      before: before(claim(A)),
      call: () => call("assignIP", { ip: "10.0.0.5", hostname: A, handleID: "h1", maxAllocToHandlePerIPVersion: 1 }),
    },
    {
      name: "claims a block that is wholly reserved",
      before: async ({ store }) => void (await store.create(reservation("r", "10.0.0.4/30"))),
      call: () => call("assignIP", { ip: "10.0.0.5", hostname: A, handleID: "h1" }),
    },
    {
      name: "in another host's block",
      before: before(claim(B)),
      call: () => call("assignIP", { ip: "10.0.0.5", hostname: A, handleID: "h1" }),
    },
  ],
  releaseIPs: [
    {
      name: "in two blocks",
      before: before(assign(6, { handleID: "h1" })),
      call: (cluster) => releaseOf(cluster, "h1"),
    },
    {
      name: "into a cooldown",
      before: before(cooldown(5), assign(2, { handleID: "h1" })),
      call: (cluster) => releaseOf(cluster, "h1"),
    },
    {
      name: "the last of a block without an owner",
      before: before(assign(1, { handleID: "h1" }), giveUp(A)),
      call: (cluster) => releaseOf(cluster, "h1"),
    },
    {
      name: "in a pool that no longer selects the node",
      before: inDeselectedPool,
      call: (cluster) => releaseOf(cluster, "h1"),
      recoveredBy: ["hosts"],
    },
  ],
  releaseByHandle: [
    { name: "in two blocks", before: before(assign(6, { handleID: "h1" })), call: () => call("releaseByHandle", "h1") },
    {
      name: "in blocks without an owner",
      before: before(assign(6, { handleID: "h1" }), giveUp(A)),
      call: () => call("releaseByHandle", "h1"),
    },
    {
      name: "in a pool that no longer selects the node",
      before: inDeselectedPool,
      call: () => call("releaseByHandle", "h1"),
      recoveredBy: ["hosts"],
    },
  ],
  claimAffinity: [{ name: "of two blocks", call: () => claim(A) }],
  releaseAffinity: [
    { name: "of empty blocks", before: before(claim(A)), call: () => call("releaseAffinity", FOUR, A, true) },
    {
      name: "of blocks in use",
      before: before(assign(6, { handleID: "h1" })),
      call: () => call("releaseAffinity", FOUR, A, false),
    },
  ],
  releaseHostAffinities: [
    {
      name: "of used and empty blocks",
      before: before(claim(A), assign(1, { handleID: "h1" })),
      call: () => giveUp(A),
    },
    {
      name: "of a node that is gone",
      before: async (cluster) => {
        await cluster.prepare(claim(A), assign(1, { handleID: "h1" }));
        cluster.nodes.delete(A);
      },
      call: () => giveUp(A),
      recoveredBy: ["again"],
    },
  ],
  releasePoolAffinities: [
    {
      name: "of two hosts",
      before: before(
        claim(A),
        call("releaseAffinity", "10.0.0.0/30", A, true),
        claim(B),
        assign(1, { handleID: "h1" }),
      ),
      call: () => call("releasePoolAffinities", FOUR),
    },
  ],
  releaseBlockAffinity: [
    {
      name: "of a block in use",
      before: before(assign(1, { handleID: "h1" })),
      call: async (cluster) => call("releaseBlockAffinity", (await cluster.all("IPAMBlock"))[0]!, false),
    },
    {
      name: "of an empty block",
      before: before(claim(A)),
      call: async (cluster) => call("releaseBlockAffinity", (await cluster.all("IPAMBlock"))[0]!, true),
    },
  ],
  removeIPAMHost: [
    {
      name: "of used and empty blocks",
      before: before(claim(A), assign(1, { handleID: "h1" })),
      call: () => call("removeIPAMHost", owner(A)),
    },
  ],
  ensureBlock: [
    {
      name: "in both families",
      call: () => {
        const kept = { startOfBlock: 1, endOfBlock: 0, handle: "windows-reserved-ipam-handle", note: "kept" };
        return call("ensureBlock", {
          hostname: A,
          ipv4Pools: [FOUR],
          hostReservedAttrIPv4s: { ...kept, startOfBlock: 2 },
          hostReservedAttrIPv6s: kept,
        });
      },
    },
  ],
  upgradeHost: [
    {
      name: "of rows without a type",
      before: async (cluster) => {
        await cluster.prepare(claim(A));
        for (const row of await cluster.all("BlockAffinity")) {
          await cluster.store.update({ ...row, spec: { ...affinity(A, row.spec.cidr).spec, type: "" } });
        }
      },
      call: () => call("upgradeHost", A),
    },
  ],
  garbageCollectColdIPs: [
    { name: "in a host's block", before: withCold(), call: collectCold },
    { name: "in a block without an owner", before: withCold(giveUp(A)), call: collectCold },
  ],
  setOwnerAttributes: [
    {
      name: "of an address",
      before: setVm,
      call: async (cluster) => call("setOwnerAttributes", (await addressesOf(cluster, "vm1"))[0]!, "vm1", ALTERNATE),
    },
  ],
  swapOwners: [
    {
      name: "in both families",
      before: async (cluster) => {
        await setVm(cluster);
        const addresses = await addressesOf(cluster, "vm1");
        await cluster.prepare(...addresses.map((ip) => call("setOwnerAttributes", ip, "vm1", ALTERNATE)));
      },
      call: () => call("swapOwners", "vm1", TARGET),
    },
  ],
  setIPAMConfig: [
    { name: "for the first time", call: () => cooldown(5) },
    { name: "again", before: before(cooldown(5)), call: () => cooldown(6) },
  ],
  ipsByHandle: [
    { name: "reads", before: before(assign(1, { handleID: "h1" })), call: () => call("ipsByHandle", "h1") },
  ],
  getAssignmentAttributes: [
    {
      name: "reads",
      before: before(call("assignIP", { ip: "10.0.0.5", hostname: A })),
      call: () => call("getAssignmentAttributes", "10.0.0.5"),
    },
  ],
  getUtilization: [{ name: "reads", before: before(claim(A)), call: () => call("getUtilization") }],
  getIPAMConfig: [{ name: "reads", call: () => call("getIPAMConfig") }],
};
