/** Invariants 25 and 34 to 36: the block cap, the stored configuration, and what getUtilization reports. */
import { parseSelector } from "../../src/api/selector.ts";
import type { BlockAffinity, IPAMBlock, IPPool } from "../../src/api/v3.ts";
import { type Cidr, canonicalCidr, contains, overlaps, parseCidr } from "../../src/net/cidr.ts";
import { covered, type Range, rangeOf, reservedRanges } from "./address-ranges.ts";
import {
  type CheckOptions,
  type Counts,
  type Finding,
  findings,
  type ListedObjects,
  type NodeLabels,
  nameOf,
  poolOf,
} from "./model.ts";

export function checkReporting(objects: ListedObjects, options: CheckOptions): Finding[] {
  return [
    ...(options.mode === "atRest" ? overCap(objects, options) : []),
    ...configurations(objects),
    ...pools(objects),
    ...sums(objects),
  ];
}

const DEFAULT_CAP = 20;

/**
 * 25: rows of one host in the pools that every automatic request for one use draws from. Rows claimed by claimAffinity,
 * by assignIP or from pools asked for by name may exceed the cap: whoever made such rows does not ask this.
 */
function overCap({ affinities, pools, nodes, configurations }: ListedObjects, options: CheckOptions): Finding[] {
  const caps = [configurations[0]?.spec.maxBlocksPerHost ?? 0, options.maxBlocksPerHost ?? 0].filter((cap) => cap > 0);
  const cap = caps.length > 0 ? Math.min(...caps) : DEFAULT_CAP;
  const groups = ["Workload", "Tunnel", "LoadBalancer"].flatMap((use) => {
    const rows = affinities.filter((row) => drawsFrom(row, use, pools, nodes));
    return [...Map.groupBy(rows, ownerAndVersion)].map(([owner, owned]) => ({ use, owner, owned }));
  });
  return groups
    .filter(({ owned }) => owned.length > cap)
    .map(({ use, owner, owned }) => ({
      invariant: 25,
      object: nameOf(owned.at(-1)!),
      message: `${owner} owns ${owned.length} blocks for ${use}, the cap is ${cap}`,
    }));
}

const ownerAndVersion = ({ spec }: BlockAffinity) =>
  `${spec.type || "host"}:${spec.node}, IPv${spec.cidr.includes(":") ? 6 : 4},`;

function drawsFrom(row: BlockAffinity, use: string, pools: readonly IPPool[], nodes: readonly NodeLabels[]): boolean {
  const range = parseCidr(row.spec.cidr);
  const pool = range && poolOf(pools, range);
  if (!pool || pool.spec.disabled || pool.spec.assignmentMode === "Manual" || pool.spec.namespaceSelector) return false;
  const uses = pool.spec.allowedUses?.length ? pool.spec.allowedUses : ["Workload", "Tunnel"];
  const labels = nodes.find(({ name }) => name === row.spec.node)?.labels ?? {};
  return uses.includes(use) && selects(pool, labels);
}

/** A pool whose selector cannot be read selects nobody: a request that meets it fails. */
function selects({ spec }: IPPool, labels: Readonly<Record<string, string>>): boolean {
  try {
    return parseSelector(spec.nodeSelector ?? "").matches(labels);
  } catch {
    return false;
  }
}

/** 34 */
function configurations({ configurations }: ListedObjects): Finding[] {
  return findings(configurations, ({ spec }, report) => {
    const { strictAffinity = false, autoAllocateBlocks = true, maxBlocksPerHost = 0 } = spec;
    if (!strictAffinity && !autoAllocateBlocks) report(34, "neither strictAffinity nor autoAllocateBlocks");
    if (maxBlocksPerHost > 0 && !strictAffinity)
      report(34, `maxBlocksPerHost ${maxBlocksPerHost} without strictAffinity`);
  });
}

/** 35. Where pools overlap, or a block reaches out of its pool, the first pool counts the whole block: not asked there. */
function pools(objects: ListedObjects): Finding[] {
  const reserved = objects.reservations.flatMap(({ spec }) => reservedRanges(spec.reservedCIDRs ?? []));
  return (objects.utilization ?? []).flatMap((report) => {
    const pool = objects.pools.find(({ metadata }) => metadata.name === report.name);
    const range = pool && parseCidr(pool.spec.cidr);
    if (!pool || !range || !isPlain(range, objects)) return [];
    return wrongCounts(report, truth(range, allocated(objects.blocks), reserved)).map((message) => ({
      invariant: 35,
      object: nameOf(pool),
      message,
    }));
  });
}

function isPlain(pool: Cidr, { pools, blocks }: ListedObjects): boolean {
  const neighbours = pools.map(({ spec }) => parseCidr(spec.cidr)).filter((other) => other && overlaps(other, pool));
  const ranges = blocks.map(({ spec }) => parseCidr(spec.cidr)).filter((range) => range && overlaps(range, pool));
  return neighbours.length === 1 && ranges.every((range) => range && contains(pool, range));
}

type Truth = Readonly<Record<"capacity" | "inUse" | "reserved" | "available", bigint>>;

function truth(pool: Cidr, used: readonly Range[], reserved: readonly Range[]): Truth {
  const whole = rangeOf(pool);
  const capacity = covered(whole, [whole]);
  return {
    capacity,
    inUse: covered(whole, used),
    reserved: covered(whole, reserved),
    available: capacity - covered(whole, [...used, ...reserved]),
  };
}

/** Every allocated address, cooling down or not, as a range of its own. */
function allocated(blocks: readonly IPAMBlock[]): Range[] {
  return blocks.flatMap(({ spec }) => {
    const range = parseCidr(spec.cidr);
    if (range === undefined) return [];
    return spec.allocations.flatMap((index, ordinal) => {
      const address = range.base + BigInt(ordinal);
      return index === null ? [] : [{ version: range.version, first: address, last: address }];
    });
  });
}

const MAX_INT64 = 2n ** 63n - 1n;

function wrongCounts(report: Counts, right: Truth): string[] {
  return Object.entries(right).flatMap(([name, count]) => {
    const said = BigInt(report[name as keyof Truth]);
    const saturated = count > MAX_INT64 && said === MAX_INT64;
    return said === count || saturated ? [] : [`${name} is reported as ${said} and is ${count}`];
  });
}

/** 36: a block as reported against the queue as stored. */
function sums({ blocks, utilization = [] }: ListedObjects): Finding[] {
  const reports = new Map(
    utilization.flatMap((pool) => pool.blocks).map((report) => [canonicalCidr(report.cidr), report]),
  );
  return findings(blocks, ({ spec }, report) => {
    const said = reports.get(canonicalCidr(spec.cidr));
    if (said === undefined) return;
    const free = spec.unallocated.length;
    if (BigInt(said.inUse) + BigInt(free) === BigInt(said.capacity)) return;
    report(36, `${said.inUse} reported in use and ${free} free are not the ${said.capacity} of the block`);
  });
}
