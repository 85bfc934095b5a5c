/** How blocks lie to each other and to the pools. */
import type { BlockAffinity, IPAMBlock } from "../../api/v3.ts";
import { isConfirmed, rowRange } from "../../ipam/affinity.ts";
import { rangeOf } from "../../ipam/block.ts";
import { poolAround } from "../../ipam/pools.ts";
import { formatAddress } from "../../net/address.ts";
import { type Cidr, isSameRange, size } from "../../net/cidr.ts";
import { allocationsOf } from "../allocations.ts";
import { family, nameOf } from "../finding.ts";
import { usageOf } from "../in-use.ts";
import { type Inventory, isCutRight } from "../inventory.ts";
import { drain, repair } from "../mend.ts";
import { rowOwnerText } from "../owners.ts";

type Code = keyof typeof codes;

const codes = {
  OverlappingBlocks: {
    severity: "critical",
    title: "Two blocks have an address in common",
    means:
      "Calico gives the address out of both blocks; the library gives it out of neither. It comes from a pool that was " +
      "created again with another block size, from overlapping pools, or from a restore.",
    mend: drain,
  },
  ForeignBlockSize: {
    severity: "info",
    title: "A block has another size than its pool gives",
    means:
      "Calico looks an address up by the pool's block size and does not find it there. No block of the right size can be " +
      "created over it. Its pool was created again with another block size.",
    mend: drain,
  },
  BlockOutsidePools: {
    severity: "info",
    title: "A block is in no pool",
    means:
      "Its pool was deleted. What is allocated goes on working, and nothing new is allocated from it. Once it is empty, " +
      "`ipamctl gc` releases it.",
    mend: drain,
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
    const usages = usageOf(inventory.snapshot);
    for (const [block, others] of overlapping(inventory)) {
      report("OverlappingBlocks", nameOf(block), overlapText(block, others, inventory));
    }
    for (const block of inventory.blocks) {
      const { affinity, allocations, cidr } = block.spec;
      const isFree = affinity === undefined && allocations.every((index) => index === null);
      if (isFree && usages.ofEmpty(block).inUse === "no") {
        report("EmptyUnownedBlock", nameOf(block), `nobody owns ${cidr}, and nothing of it is allocated`);
      }
      inPool(block, inventory, (code, message) => report(code, nameOf(block), message));
    }
  },
});

/** Of each two blocks that overlap, the one that is none of its pool is found; where neither or both are, the smaller one. */
function overlapping(inventory: Inventory): Map<IPAMBlock, IPAMBlock[]> {
  const found = new Map<IPAMBlock, IPAMBlock[]>();
  const { blocks, index } = inventory;
  for (const wide of blocks) {
    for (const other of index.overlapping(wide)) {
      if (rangeOf(other).prefix < rangeOf(wide).prefix) continue; // each two once, the wider one first
      const isWideOdd = !isCutRight(inventory, rangeOf(wide)) && isCutRight(inventory, rangeOf(other));
      const [odd, right] = isWideOdd ? [wide, other] : [other, wide];
      found.set(odd, [...(found.get(odd) ?? []), right]);
    }
  }
  return found;
}

const SHOWN = 4;
const some = (texts: readonly string[]) =>
  texts.slice(0, SHOWN).join(", ") + (texts.length > SHOWN ? ` and ${texts.length - SHOWN} more` : "");

function overlapText(block: IPAMBlock, others: readonly IPAMBlock[], inventory: Inventory): string {
  const owned = ({ spec }: IPAMBlock) => `${spec.cidr} (${spec.affinity ?? "no affinity"})`;
  const shared = others.map((other) => {
    const [a, b] = [rangeOf(block), rangeOf(other)];
    return addressesOf(a.prefix > b.prefix ? a : b);
  });
  const { allocationsAt } = usageOf(inventory.snapshot);
  const twice = Array.from(allocationsOf(block), ({ address }) => address).filter(
    (address) => allocationsAt(address).length > 1,
  );
  return [
    `${owned(block)} overlaps ${some(others.map(owned))}: both cover ${some(shared)}`,
    ...(twice.length > 0 ? [`both hold ${some(twice)}`] : []),
    ...(isUnconfirmed(block, inventory) ? ["its claim is not confirmed, and nothing is allocated from it"] : []),
  ].join("; ");
}

function addressesOf(range: Cidr): string {
  const last = { version: range.version, value: range.base + size(range) - 1n };
  return `${formatAddress({ version: range.version, value: range.base })} to ${formatAddress(last)}`;
}

function isUnconfirmed(block: IPAMBlock, { affinities }: Inventory): boolean {
  const isOfBlock = (row: BlockAffinity) =>
    rowOwnerText(row) === block.spec.affinity && isSameRange(rowRange(row), rangeOf(block));
  const row = affinities.find(isOfBlock);
  return row !== undefined && !isConfirmed(row);
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
