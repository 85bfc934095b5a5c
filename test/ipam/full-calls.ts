/** One valid call per method over one small cluster, and every place in its arguments where something else may stand. */
import type { Ipam } from "../../src/ipam/client.ts";
import { type World, windowsReserve, world } from "../support/ipam.ts";
import type { Invocation, Method } from "./calls.ts";

export const A = { affinityType: "host", host: "host-a" } as const;
const reserve = windowsReserve(1, 1);
const pod = { namespace: "shop", name: "cart-0" };
const attrs = { namespace: "shop", pod: "cart-0" };

/** One valid call per method, in which every field is given. */
export const FULL: { readonly [M in Method]: (w: World) => Promise<Parameters<Ipam[M]>> | Parameters<Ipam[M]> } = {
  autoAssign: () => [
    {
      num4: 1,
      num6: 1,
      handleID: "h1",
      attrs,
      hostname: "host-a",
      ipv4Pools: ["10.0.0.0/28"],
      ipv6Pools: ["fd00::/124"],
      maxBlocksPerHost: 3,
      hostReservedAttrIPv4s: reserve,
      hostReservedAttrIPv6s: reserve,
      intendedUse: "Workload",
      maxAllocToHandlePerIPVersion: 2,
      namespace: { metadata: { labels: { a: "b" } } },
    },
    {},
  ],
  assignIP: () => [
    {
      ip: "10.0.0.9",
      handleID: "h2",
      attrs,
      hostname: "host-a",
      hostReservedAttr: reserve,
      intendedUse: "Workload",
      maxAllocToHandlePerIPVersion: 1,
    },
    {},
  ],
  releaseIPs: async (w) => [[{ address: "10.0.0.1", handle: "h", sequenceNumber: await numberOfFirst(w) }], {}],
  releaseByHandle: () => ["h", {}],
  ipsByHandle: () => ["h", {}],
  getAssignmentAttributes: () => ["10.0.0.1", {}],
  claimAffinity: () => ["10.0.0.8/30", A, {}],
  releaseAffinity: () => ["10.0.0.8/30", "host-a", true, {}],
  releaseHostAffinities: () => [A, false, {}],
  releasePoolAffinities: () => ["10.0.0.0/28", {}],
  releaseBlockAffinity: async (w) => [await w.block("10.0.0.0/30"), false, {}],
  removeIPAMHost: () => [A, {}],
  ensureBlock: () => [
    {
      hostname: "host-a",
      ipv4Pools: ["10.0.0.0/28"],
      ipv6Pools: ["fd00::/124"],
      hostReservedAttrIPv4s: reserve,
      hostReservedAttrIPv6s: reserve,
    },
    {},
  ],
  upgradeHost: () => ["host-a", {}],
  garbageCollectColdIPs: async (w) => [{ ipCooldownSeconds: 0 }, await w.block("10.0.0.0/30"), {}],
  setOwnerAttributes: () => [
    "10.0.0.1",
    "h",
    { activeOwnerAttrs: attrs, alternateOwnerAttrs: attrs },
    { expectedActiveOwner: pod, expectedAlternateOwner: pod },
    {},
  ],
  swapOwners: () => ["h", pod, {}],
  getUtilization: () => [{ pools: ["pool0"] }, {}],
  getIPAMConfig: () => [{}],
  setIPAMConfig: () => [
    {
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 5,
      ipCooldownSeconds: 5,
      kubeVirtVMAddressPersistence: "Enabled",
    },
    {},
  ],
};

const numberOfFirst = async (w: World) => (await w.block("10.0.0.0/30")).spec.sequenceNumberForAllocation!["1"]!;

const shopPools = [
  ["10.0.0.0/28", 30],
  ["fd00::/124", 126],
] as const;

export async function shop(): Promise<World> {
  const w = await world({ pools: shopPools });
  await w.ipam.assignIP({
    ip: "10.0.0.1",
    hostname: "host-a",
    handleID: "h",
    attrs: { namespace: "shop", pod: "cart-0" },
  });
  await w.ipam.setOwnerAttributes("10.0.0.1", "h", { alternateOwnerAttrs: attrs });
  w.calls.splice(0);
  return w;
}

export type Path = readonly (string | number)[];

/** Every place in a value, from the whole to the smallest part; of blocks, which are read and not written, the first levels. */
export function* placesIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null || path.length > 3) return;
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 2) : Object.keys(value);
  for (const key of keys) yield* placesIn((value as Record<string | number, unknown>)[key], [...path, key]);
}

export function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

export async function run(w: World, { method, args }: Invocation): Promise<unknown> {
  return (w.ipam[method] as (...all: readonly unknown[]) => Promise<unknown>)(...args);
}
