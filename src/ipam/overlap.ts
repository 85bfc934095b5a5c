/**
 * Blocks that were cut when their pool had blocks of another size, or by a pool that is gone. No block is made over them:
 * two that overlap would give the same address twice. And addresses in them are found all the same.
 */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { type Address, width } from "../net/address.ts";
import { type Cidr, cidrOf, contains, formatCidr, overlaps } from "../net/cidr.ts";
import { collect, rangeOf } from "./block.ts";
import { type Context, found, type ListedBlocks, type LoadedBlock, listBlocks, loadBlock } from "./context.ts";
import { IpamError } from "./errors.ts";

/** Ranges of all blocks that share addresses with `cidr`, be they such as cannot be used. */
export function overlapping({ blocks, unsoundRanges }: Omit<ListedBlocks, "unsound">, cidr: Cidr): Cidr[] {
  return [...blocks.map(rangeOf), ...unsoundRanges].filter((range) => overlaps(range, cidr));
}

/** @throws IpamError BlockOverlap where a block of that range would share addresses with another */
export function refuseOverlap(listed: Omit<ListedBlocks, "unsound">, cidr: Cidr): void {
  const others = overlapping(listed, cidr).map(formatCidr);
  const text = formatCidr(cidr);
  if (others.length === 0 || others.includes(text)) return;
  const message =
    `block ${text} would overlap ${others.join(", ")}, cut when the pool had blocks of another size: ` +
    "release what that holds, then its affinity";
  throw new IpamError("BlockOverlap", message);
}

/** The block an address is in: the one at `cidr`, or one of another size; undefined where there is neither. */
export async function loadBlockHolding(
  context: Context,
  { block: cidr, address }: { readonly block: Cidr; readonly address: Address },
  cooldownSeconds: number,
  options: CallOptions,
): Promise<LoadedBlock | undefined> {
  const loaded = await found(loadBlock(context, cidr, cooldownSeconds, options));
  if (loaded) return loaded;
  const stored = blockHolding((await listBlocks(context, options)).blocks, address);
  return stored && { stored, block: collect(stored, cooldownSeconds, context.clock()) };
}

export function rangeHolding(blocks: readonly IPAMBlock[], address: Address): Cidr | undefined {
  const block = blockHolding(blocks, address);
  return block && rangeOf(block);
}

function blockHolding(blocks: readonly IPAMBlock[], address: Address): IPAMBlock | undefined {
  const single = cidrOf(address, width(address.version));
  return blocks.find((block) => contains(rangeOf(block), single));
}
