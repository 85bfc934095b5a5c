/** Leaked addresses that would be room for a node once they are released. Pure. */
import type { IPAMBlock } from "../../api/v3.ts";
import type { Moment } from "./causes.ts";
import { cause, counted, type Found, type Short, some } from "./found.ts";
import type { Holding } from "./room.ts";

export function leaked({ moment, asking }: Short, { blocks, addresses }: Holding): Found[] {
  const found = blocks.flatMap(({ metadata }) => moment.leaks.get(metadata.name) ?? []);
  if (found.length === 0) return [];
  const message = `${found.length} of the ${addresses} addresses that ${asking.host} could use are leaked: ${some(found)}`;
  return [cause("LeakedAddress", message, "ipamctl gc")];
}

/**
 * Where affinity is strict, blocks of others of which every address is leaked: once those are released, the blocks are
 * empty, and the node can take them over.
 */
export function leakedInOthers({ inventory, moment, room }: Short): Found[] {
  const { strictAffinity, autoAllocateBlocks } = inventory.config;
  if (!strictAffinity || !autoAllocateBlocks) return [];
  const held = room.others.blocks.filter((block) => isAllLeaked(block, moment));
  if (held.length === 0) return [];
  const found = held.flatMap(({ metadata }) => moment.leaks.get(metadata.name) ?? []);
  const message =
    `${counted(found.length, "leaked address", "leaked addresses")} (${some(found)}) are all that ` +
    `${counted(held.length, "block", "blocks")} of other nodes hold (${some(held.map(({ spec }) => spec.cidr))}): ` +
    "the node can claim a block once it is empty";
  return [cause("LeakedAddress", message, "ipamctl gc")];
}

/** Every address that the block holds, but for those that cool down: once they are released, it is empty, or will be. */
export function isAllLeaked({ metadata, spec }: IPAMBlock, { leaks }: Moment): boolean {
  const count = leaks.get(metadata.name)?.length ?? 0;
  const held = spec.allocations.filter((index) => index !== null && spec.attributes[index]?.releasedAt === undefined);
  return count > 0 && count === held.length;
}
