/** The cluster that calls are cut off in, the calls that lead up to it, and those that many scenarios share. */
import { contains, parseCidr } from "../../src/net/cidr.ts";
import { hostRange, ordinalOf } from "../invariants/log.ts";
import { pool } from "../support/ipam-data.ts";
import { call, type Invocation } from "./calls.ts";
import type { Cluster } from "./cluster.ts";

export const [A, B] = ["host-a", "host-b"];
export const owner = (host: string, affinityType: "host" | "virtual" = "host") => ({ host, affinityType });

/** Two hosts; two blocks of four addresses, two of two IPv6 ones, and a pool for nodes in zone z. */
export async function prepareCluster(cluster: Cluster): Promise<void> {
  cluster.nodes.set(A, { zone: "z" }).set(B, { zone: "y" });
  const allowedUses = ["Workload", "Tunnel", "LoadBalancer"];
  await cluster.store.create(pool("four", FOUR, { blockSize: 30, allowedUses }));
  await cluster.store.create(pool("six", SIX, { blockSize: 127, allowedUses }));
  await cluster.store.create(
    pool("zone", ZONE, { blockSize: 31, nodeSelector: 'zone == "z"', assignmentMode: "Automatic" }),
  );
}

export const FOUR = "10.0.0.0/29";
export const SIX = "fd00::/126";
export const ZONE = "10.0.9.0/31";
export const workload = {
  hostname: A,
  intendedUse: "Workload",
  ipv4Pools: [FOUR],
  ipv6Pools: [SIX],
  attrs: { node: A },
} as const;
export const assign = (num4: number, more: object = {}) => call("autoAssign", { ...workload, num4, ...more });
export const claim = (host: string) => call("claimAffinity", FOUR, owner(host));
export const giveUp = (host: string) => call("releaseHostAffinities", owner(host), false);
export const cooldown = (seconds: number) => call("setIPAMConfig", { ipCooldownSeconds: seconds });
export const before =
  (...calls: readonly Invocation[]) =>
  (cluster: Cluster) =>
    cluster.prepare(...calls);

export async function addressesOf(cluster: Cluster, handleID: string): Promise<string[]> {
  return (await cluster.run(call("ipsByHandle", handleID))).result as string[];
}

/** A release as a careful caller makes it: with the number each address was allocated at. */
export async function releaseOf(cluster: Cluster, handleID: string): Promise<Invocation> {
  const blocks = await cluster.all("IPAMBlock");
  const numberOf = (address: string) => {
    const { spec } = blocks.find(({ spec }) => contains(parseCidr(spec.cidr)!, hostRange(address)))!;
    return spec.sequenceNumberForAllocation?.[ordinalOf(spec, address)];
  };
  const addresses = await addressesOf(cluster, handleID);
  return call(
    "releaseIPs",
    addresses.map((address) => ({ address, handle: handleID, sequenceNumber: numberOf(address) })),
  );
}

/** The node loses the zone of the pool in which it has a block. */
export const inDeselectedPool = async (cluster: Cluster) => {
  await cluster.prepare(assign(1, { ipv4Pools: [ZONE], handleID: "h1" }));
  cluster.nodes.set(A, {});
};

export const setVm = (cluster: Cluster) =>
  cluster.prepare(call("autoAssign", { ...workload, ...VM, num4: 1, num6: 1 }));
export const VM = {
  handleID: "vm1",
  maxAllocToHandlePerIPVersion: 1,
  attrs: { node: A, pod: "source", namespace: "n" },
};
export const TARGET = { namespace: "n", name: "target" };
export const ALTERNATE = { alternateOwnerAttrs: { pod: "target", namespace: "n" } };

export function withCold(...then: readonly Invocation[]) {
  return async (cluster: Cluster) => {
    await cluster.prepare(cooldown(5), assign(1, { handleID: "h1" }), call("releaseByHandle", "h1"), ...then);
    cluster.pass(6);
  };
}

export async function collectCold(cluster: Cluster): Promise<Invocation> {
  return call("garbageCollectColdIPs", { ipCooldownSeconds: 5 }, (await cluster.all("IPAMBlock"))[0]!);
}
