/** Where nodes outnumber blocks. With strict affinity a node that finds no block to claim gets no address. Pure. */

import type { IPAMConfig } from "../api/config-rules.ts";
import { plural } from "../api/plural.ts";
import type { IpVersion } from "../net/address.ts";
import { isIpamError } from "./errors.ts";
import { isEnabled, type Pool } from "./pools.ts";
import { selectionOf } from "./selection.ts";

export interface ScarceBlocks {
  /** Pools that the nodes share: none of the nodes may use any other. */
  readonly pools: readonly Pool[];
  readonly blocks: bigint;
  readonly nodes: number;
}

interface NamedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A finding for each set of pools that more nodes depend on than it has blocks; empty without strict affinity. */
export function scarceBlocks(
  { strictAffinity }: IPAMConfig,
  pools: readonly Pool[],
  nodes: readonly NamedNode[],
): ScarceBlocks[] {
  if (!strictAffinity) return [];
  return ([4, 6] as const).flatMap((version) => scarceOf(pools.filter(isForPods(version)), nodes));
}

const isForPods = (version: IpVersion) => (pool: Pool) =>
  pool.cidr.version === version &&
  isEnabled(pool) &&
  pool.allowedUses.includes("Workload") &&
  (pool.source.spec.assignmentMode ?? "Automatic") === "Automatic";

function scarceOf(pools: readonly Pool[], nodes: readonly NamedNode[]): ScarceBlocks[] {
  const usable = nodes.map((node) => poolsOfNode(pools, node)).filter((own) => own.length > 0);
  const sets = new Map(usable.map((own) => [keyOf(own), own]));
  return Array.from(sets.values(), (set) => ({
    pools: set,
    blocks: set.reduce((sum, pool) => sum + blocksOf(pool), 0n),
    nodes: usable.filter((own) => own.every((pool) => set.includes(pool))).length,
  })).filter((scarce) => BigInt(scarce.nodes) > scarce.blocks);
}

const keyOf = (pools: readonly Pool[]) => pools.map(({ name }) => name).join(" ");
const blocksOf = ({ cidr, blockSize }: Pool) => 1n << BigInt(blockSize - cidr.prefix);

/** A selector that cannot be read selects nothing here; it is a finding of its own. */
function poolsOfNode(pools: readonly Pool[], { labels }: NamedNode): Pool[] {
  const selects = selectionOf({ metadata: { labels } });
  return pools.filter(({ source }) => {
    try {
      return selects(source);
    } catch (error) {
      if (isIpamError(error, "MalformedObject")) return false;
      throw error;
    }
  });
}

/** A sentence with the numbers. */
export function scarceText({ pools, blocks, nodes }: ScarceBlocks): string {
  const names = pools.map(({ name, source, blockSize }) => `"${name}" (${source.spec.cidr}, blocks of /${blockSize})`);
  const without = BigInt(nodes) - blocks;
  return (
    `strictAffinity is true, and ${nodes} nodes share the ${plural(blocks, "block")} of ` +
    `pool${names.length === 1 ? "" : "s"} ${names.join(", ")}: ${plural(without, "node")} ` +
    "can get no block, and pods there no address"
  );
}
