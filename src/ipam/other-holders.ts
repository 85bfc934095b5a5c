/** Where blocks overlap, an address can be held in another block than the one its pool's block size says. */

import { blockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { formatAddress, width } from "../net/address.ts";
import { type Cidr, cidrOf, contains, formatCidr, parseCidr } from "../net/cidr.ts";
import { addressFrom, attributeAt, handleOf, isCooling, ordinalOf, rangeOf } from "./block.ts";
import type { Context } from "./context.ts";
import { readable } from "./lookup.ts";
import { findOverlaps } from "./overlap.ts";

/** An address, and whose it is to be, where that matters. */
export interface Wanted {
  readonly address: string;
  /** As it can be looked up. */
  readonly handleID: string | undefined;
}

/**
 * Ranges of other blocks that hold wanted addresses of `block`, for the handle that is wanted; by canonical address. Costs a
 * list of names where the store does not have all blocks at hand: ask only about what `block` does not hold.
 */
export async function otherHolders(
  context: Context,
  block: IPAMBlock,
  wanted: readonly Wanted[],
  options: CallOptions,
): Promise<ReadonlyMap<string, Cidr>> {
  const holders = new Map<string, Cidr>();
  const others = (await findOverlaps(context, [block], options)).get(block.metadata.name) ?? [];
  for (const { name } of others) {
    const other = await readable(context, context.datastore.get("IPAMBlock", name, { ...options, fresh: true }));
    const range = other && parseCidr(other.spec.cidr);
    if (!range || blockName(formatCidr(range)) !== name) continue;
    for (const entry of wanted) if (holds(other, entry)) holders.set(formatAddress(addressFrom(entry.address)), range);
  }
  return holders;
}

function holds(block: IPAMBlock, { address, handleID }: Wanted): boolean {
  const parsed = addressFrom(address);
  if (!contains(rangeOf(block), cidrOf(parsed, width(parsed.version)))) return false;
  const attribute = attributeAt(block, ordinalOf(block, parsed)!);
  if (attribute === undefined || isCooling(attribute)) return false;
  return handleID === undefined || handleOf(attribute) === handleID;
}
