/** Every public method of the library and every verb of ipamctl, as calls on a store of `store.ts`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { MENDERS } from "../../../src/cli/repair/menders.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import type { Ipam } from "../../../src/ipam/client.ts";
import { inTurn, poolCidr, type Site, type Sized, sized } from "./store.ts";

interface Surroundings {
  readonly site: Site;
  readonly store: Datastore;
  readonly ipam: Ipam;
  readonly signal: AbortSignal;
}

/** One call, or the same call for each stored range; each that is refused counts by itself. */
export type LibraryCall = (around: Surroundings) => (() => Promise<unknown>)[];

const owner = { affinityType: "host", host: "node-b" } as const;
const attrs = { namespace: "shop", pod: "cart-1", node: "node-a" };
const reserve = { startOfBlock: 1, endOfBlock: 1, handle: "windows-reserved-ipam-handle", note: "reserved" };
const counts = ({ version }: Site) => (version === 4 ? { num4: 2 } : { num6: 2 });

const autoAssign =
  (hostname: string, more: object = {}): LibraryCall =>
  ({ ipam, site }) => [
    () => ipam.autoAssign({ ...counts(site), hostname, handleID: "new", attrs, intendedUse: "Workload", ...more }),
  ];
const forBlocks =
  (call: (around: Surroundings, range: Sized) => Promise<unknown>): LibraryCall =>
  (around) =>
    inTurn(sized(around.site, "block"), around.site).map((range) => () => call(around, range));
const forAffinities =
  (call: (around: Surroundings, cidr: string) => Promise<unknown>): LibraryCall =>
  (around) =>
    inTurn(sized(around.site, "affinity"), around.site).flatMap(({ cidr, withHostBits }) => [
      () => call(around, cidr),
      () => call(around, withHostBits),
    ]);
const once =
  (call: (around: Surroundings) => Promise<unknown>): LibraryCall =>
  (around) => [() => call(around)];

/** A range of so many blocks is claimed on purpose: it is an argument, and no stored size. */
const manyBlocks = ({ blockSize, version }: Site, cidr: string) => {
  const bits = (blockSize || (version === 4 ? 26 : 122)) - Number(cidr.split("/")[1]);
  return bits > 4 && bits <= 16;
};

export const LIBRARY_CALLS: Readonly<Record<string, LibraryCall>> = {
  "autoAssign, node-a": autoAssign("node-a"),
  "autoAssign, node-a, a limit beyond what it has": autoAssign("node-a", { maxBlocksPerHost: 1000 }),
  "autoAssign, node-b": autoAssign("node-b"),
  "autoAssign, a new node": autoAssign("node-c"),
  "autoAssign, a new Windows node": autoAssign("node-c", {
    hostReservedAttrIPv4s: reserve,
    hostReservedAttrIPv6s: reserve,
  }),
  assignIP: forBlocks(({ ipam }, { address }) => ipam.assignIP({ ip: address, hostname: "node-b", handleID: "new" })),
  "assignIP in affinities": (around) =>
    inTurn(sized(around.site, "affinity"), around.site).map(
      ({ address }) =>
        () =>
          around.ipam.assignIP({ ip: address, hostname: "node-a", handleID: "new" }),
    ),
  releaseIPs: once(({ ipam, site }) => {
    const ranges = sized(site, "block");
    const released = site.turn === 0 ? ranges : inTurn(ranges, site);
    return ipam.releaseIPs(released.map(({ address }) => ({ address })));
  }),
  releaseByHandle: once(({ ipam }) => ipam.releaseByHandle("held")),
  ipsByHandle: once(({ ipam }) => ipam.ipsByHandle("held")),
  getAssignmentAttributes: forBlocks(({ ipam }, { address }) => ipam.getAssignmentAttributes(address)),
  claimAffinity: (around) =>
    forAffinities(async ({ ipam, site }, cidr) =>
      manyBlocks(site, cidr) ? undefined : ipam.claimAffinity(cidr, { affinityType: "host", host: "node-d" }),
    )(around),
  "claimAffinity again": (around) =>
    forAffinities(async ({ ipam, site }, cidr) =>
      manyBlocks(site, cidr) ? undefined : ipam.claimAffinity(cidr, { affinityType: "host", host: "node-a" }),
    )(around),
  releaseAffinity: forAffinities(({ ipam }, cidr) => ipam.releaseAffinity(cidr, "node-a", false)),
  releaseHostAffinities: once(({ ipam }) => ipam.releaseHostAffinities(owner, false)),
  "releaseHostAffinities, node-a": once(({ ipam }) =>
    ipam.releaseHostAffinities({ affinityType: "host", host: "node-a" }, true),
  ),
  releasePoolAffinities: forAffinities(({ ipam }, cidr) => ipam.releasePoolAffinities(cidr)),
  releaseBlockAffinity: once(async ({ ipam, store }) => {
    for (const block of (await store.list("IPAMBlock")).items) {
      await ipam.releaseBlockAffinity(block, false).catch(nameable);
    }
  }),
  removeIPAMHost: once(({ ipam }) => ipam.removeIPAMHost(owner)),
  ensureBlock: once(({ ipam }) =>
    ipam.ensureBlock({ hostname: "node-c", hostReservedAttrIPv4s: reserve, hostReservedAttrIPv6s: reserve }),
  ),
  "ensureBlock, node-a": once(({ ipam }) =>
    ipam.ensureBlock({ hostname: "node-a", hostReservedAttrIPv4s: reserve, hostReservedAttrIPv6s: reserve }),
  ),
  upgradeHost: once(({ ipam, signal }) => ipam.upgradeHost("node-a", { signal })),
  garbageCollectColdIPs: once(async ({ ipam, store }) => {
    for (const block of (await store.list("IPAMBlock")).items) {
      await ipam.garbageCollectColdIPs({ ipCooldownSeconds: 60 }, block).catch(nameable);
    }
  }),
  setOwnerAttributes: forBlocks(({ ipam }, { address }) =>
    ipam.setOwnerAttributes(address, "held", { alternateOwnerAttrs: { namespace: "shop", pod: "cart-2" } }),
  ),
  swapOwners: once(({ ipam }) => ipam.swapOwners("held", { namespace: "shop", name: "cart-2" })),
  getUtilization: once(({ ipam }) => ipam.getUtilization()),
  "getUtilization of pools": once(({ ipam, site }) => ipam.getUtilization({ pools: ["tiny", poolCidr(site)] })),
  getIPAMConfig: once(({ ipam }) => ipam.getIPAMConfig()),
  setIPAMConfig: once(({ ipam }) => ipam.setIPAMConfig({ ipCooldownSeconds: 60 })),
};

/** Refusals that say which object is at fault; everything else is thrown. */
export function nameable(error: unknown): void {
  if (!(error instanceof Error) || !["IpamError", "DatastoreError"].includes(error.name)) throw error;
}

/** Command lines, without where the data is. `folder` is for files that they write and read. */
export function verbCalls(site: Site, folder: string): string[][] {
  const { version } = site;
  const cidr = poolCidr(site);
  const blocks = sized(site, "block");
  const addresses = inTurn(blocks, site).map(({ address }) => address);
  const middle = blocks.find(({ prefix }) => prefix === (version === 4 ? 26 : 122))!.address;
  const file = (name: string) => join(folder, name);
  const manifest = file("pool.yaml");
  const spec = { cidr: version === 4 ? "192.168.0.0/16" : "fd02::/64", blockSize: version === 4 ? 26 : 122 };
  const pool = { apiVersion: "projectcalico.org/v3", kind: "IPPool", metadata: { name: "new" }, spec };
  writeFileSync(manifest, stringify(pool));
  const family = ["--ip-version", String(version)];
  return [
    ...inTurn(PLANS[version], site),
    ...inTurn(Object.keys(MENDERS), site).map((code) => ["repair", code, "--all", "--copy", file("copy"), ...NOW]),
    ["show", "--blocks"],
    ["show", "--blocks", "-o", "json"],
    ...addresses.map((address) => ["show", "--ip", address]),
    ["show", "--node", "node-b"],
    ["show", "--handle", "held"],
    ["show", "--borrowed"],
    ["show", "--map"],
    ["show", "--map", "--pool", cidr, "--ascii", "-o", "json"],
    ["check", "--second-look", "0", "--report", file("report.json")],
    ["top"],
    ["why", "--node", "node-a"],
    ["why", "--node", "node-c"],
    ["plan", "-f", manifest, "--nodes", "3", "--pods-per-node", "2"],
    ["bundle", file("bundle.gz")],
    ["check", "--bundle", file("bundle.gz"), "--second-look", "0"],
    ["version"],
    ["explain", "OverlappingBlocks"],
    ["completion", "bash"],
    ["assign", "--node", "node-a", ...family, "--yes"],
    ["assign", "--node", "node-c", ...family, "--count", "3", "--yes"],
    ["assign", middle, "--node", "node-b", "--yes"],
    ["release", ...addresses, middle, "--even-in-use", "--yes"],
    ["release", "--handle", "held", "--even-in-use", "--yes"],
    ["release", "--node", "node-b", "--even-in-use", "--yes"],
    ["release", "--from-report", file("report.json"), "--force", "--yes"],
    ["configure", "--ip-cooldown-seconds", "60", "--yes"],
    ["gc", ...NOW],
    ["split", "2", "--name", "pool", "--yes"],
    ["split", "1024", "--cidr", cidr, "--dry-run"],
  ];
}

const NOW = ["--grace", "0", "--yes"];

/** Pools of many lengths to plan for from nothing, with the largest and the smallest blocks. */
const PLANS = { 4: plans("64.0.0.0", 32, ["20", "32"]), 6: plans("4000::", 128, ["116", "128"]) } as const;

function plans(base: string, longest: 32 | 128, blockSizes: readonly string[]): string[][] {
  const lengths = Array.from({ length: 33 }, (_, index) => (index * longest) / 32);
  return lengths.map((prefix, index) => [
    ...["plan", "--cidr", `${base}/${prefix}`, "--nodes", "2"],
    ...["--block-size", blockSizes[index % blockSizes.length]!],
  ]);
}
