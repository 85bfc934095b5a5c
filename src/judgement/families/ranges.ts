/** How blocks lie to each other and to the pools. */
import type { IPAMBlock } from "../../api/v3.ts";
import { rangeOf } from "../../ipam/block.ts";
import { poolAround } from "../../ipam/pools.ts";
import { overlaps } from "../../net/cidr.ts";
import { family, nameOf } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { edit, repair } from "../mend.ts";

type Code = keyof typeof codes;

const codes = {
  OverlappingBlocks: {
    severity: "critical",
    title: "Two blocks have an address in common",
    means:
      "The address can be handed out by both. It comes from a pool whose block size was changed, or from a restore.",
    mend: edit,
  },
  ForeignBlockSize: {
    severity: "info",
    title: "A block has another size than its pool gives",
    means: "Looking up an address by the pool's block size does not find it. It was made by somebody else than Calico.",
    mend: edit,
  },
  BlockOutsidePools: {
    severity: "info",
    title: "A block is in no pool",
    means:
      "Its pool was deleted. What is allocated goes on working, nothing new is allocated from it, and it goes away with " +
      "its last address.",
    mend: edit,
  },
  EmptyUnownedBlock: {
    severity: "info",
    title: "A block that nobody owns holds nothing",
    means: "It should have gone away with its last address; while it is there, no node can claim its range.",
    mend: repair,
    moving: true,
  },
} as const;

export const ranges = family<Code>({
  title: "Ranges of blocks and pools",
  codes,
  look(inventory, report) {
    for (const [block, other] of overlapping(inventory.blocks)) {
      report("OverlappingBlocks", nameOf(block), `${block.spec.cidr} and ${other.spec.cidr} overlap`);
    }
    for (const block of inventory.blocks) {
      const { affinity, allocations, cidr } = block.spec;
      if (affinity === undefined && allocations.every((index) => index === null)) {
        report("EmptyUnownedBlock", nameOf(block), `nobody owns ${cidr}, and nothing of it is allocated`);
      }
      inPool(block, inventory, (code, message) => report(code, nameOf(block), message));
    }
  },
});

/** Sorted by address, a block can only overlap the widest one that came before. */
function overlapping(blocks: readonly IPAMBlock[]): [IPAMBlock, IPAMBlock][] {
  const sorted = blocks.map((block) => ({ block, range: rangeOf(block) }));
  sorted.sort(
    ({ range: a }, { range: b }) =>
      a.version - b.version || (a.base < b.base ? -1 : Number(a.base > b.base)) || a.prefix - b.prefix,
  );
  let widest = sorted[0];
  return sorted.slice(1).flatMap((next): [IPAMBlock, IPAMBlock][] => {
    if (overlaps(widest!.range, next.range)) return [[next.block, widest!.block]];
    widest = next;
    return [];
  });
}

function inPool(block: IPAMBlock, { pools }: Inventory, say: (code: Code, message: string) => void): void {
  const range = rangeOf(block);
  const pool = poolAround(pools, range);
  if (pool === undefined) say("BlockOutsidePools", `${block.spec.cidr} is in no pool`);
  else if (pool.blockSize !== range.prefix && !isOlder(block, pool.source)) {
    say("ForeignBlockSize", `${block.spec.cidr} is in pool "${pool.name}", whose blocks are /${pool.blockSize}`);
  }
}

type Dated = { readonly metadata: { readonly creationTimestamp?: string | undefined } };

/** A block may be older than its pool, which was then made over it. */
function isOlder(block: Dated, pool: Dated): boolean {
  return Date.parse(block.metadata.creationTimestamp ?? "") < Date.parse(pool.metadata.creationTimestamp ?? "");
}
