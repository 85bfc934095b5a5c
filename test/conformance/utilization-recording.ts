/** What the reference's getUtilization said (test/golden/utilization.v3.json), and what was stored when it did. */
import { readFileSync } from "node:fs";
import type { IPAMBlockSpec, IPPoolSpec } from "../../src/api/v3.ts";
import type { PoolReport } from "../invariants/check.ts";
import { block, pool, reservation } from "../support/ipam-data.ts";

export const ORPHANS = "orphaned allocation blocks";

/** Counts above 2^53 are decimal text. */
export interface UtilizationCase {
  readonly name: string;
  readonly pools: readonly ({ readonly name: string; readonly cidr: string } & Partial<IPPoolSpec>)[];
  readonly reservations: readonly (readonly string[])[];
  readonly blocks: readonly { readonly spec: IPAMBlockSpec }[];
  /** The first asks for everything. */
  readonly queries: readonly { readonly pools: readonly string[]; readonly result: readonly PoolReport[] }[];
}

export const utilizationCases: readonly UtilizationCase[] = JSON.parse(
  readFileSync(new URL("../golden/utilization.v3.json", import.meta.url), "utf8"),
).cases;

/** Stored objects; the pools as the first report names them, because some cases replace those they begin with. */
export function storedFor({ pools, reservations, blocks, queries }: UtilizationCase) {
  const reported = queries[0]!.result.filter(({ name }) => name !== ORPHANS);
  return {
    blocks: blocks.map(({ spec }) => block(spec.cidr, spec)),
    pools: reported.map(({ name, cidr }) => {
      const { name: _name, ...spec } = pools.find((given) => given.name === name) ?? { name, blockSize: 26 };
      return pool(name, cidr, { ...spec, cidr });
    }),
    reservations: reservations.map((cidrs, index) => reservation(`r${index}`, ...cidrs)),
  };
}

/** Number 15 of the differences: the reference counts blocks that are marked as deleted. */
export const COUNTS_DELETED = "block marked deleted still counted";
