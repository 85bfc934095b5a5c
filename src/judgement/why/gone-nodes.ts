/** Blocks that have room, and belong to nodes that are gone: what each still holds, and what frees it. Pure. */
import type { IPAMBlock } from "../../api/v3.ts";
import { freeOrdinals } from "../../ipam/block.ts";
import { allocationsOf } from "../allocations.ts";
import { usageOf } from "../in-use.ts";
import type { Inventory } from "../inventory.ts";
import { freeAt } from "../inventory.ts";
import { deleteUser } from "../mend.ts";
import { nodeOwner } from "../owners.ts";
import { userText } from "../users.ts";
import { cause, type Found, type Short, some } from "./found.ts";
import { isAllLeaked } from "./leaks.ts";

/** Where affinity is strict, what such a block still holds keeps every node from claiming it. */
export function heldByGoneNodes({ inventory, room, moment }: Short): Found[] {
  const held = room.others.blocks.filter(
    (block) =>
      moment.ofGoneNodes.has(block.metadata.name) &&
      freeOrdinals(block, inventory.reserved).length > 0 &&
      !isAllLeaked(block, moment),
  );
  if (held.length === 0) return [];
  const nodes = [...new Set(held.map((block) => nodeOwner(block) ?? ""))];
  const what = `${some(held.map(({ spec }) => spec.cidr))} have room, and their owners are gone: ${some(nodes)}`;
  const [use] = held.flatMap((block) => usesIn(block, inventory));
  if (use) return [cause("AffinityOfGoneNode", `${what}; ${use.because}`, use.command)];
  const cold = held.flatMap(releaseTimes).sort().at(-1);
  if (cold === undefined) return [cause("AffinityOfGoneNode", what, "ipamctl repair AffinityOfGoneNode")];
  const message = `${what}; what they hold cools down, the last of it until ${freeAt(inventory, cold)}`;
  return [cause("CoolingDown", message, "ipamctl show --cooldown")];
}

const releaseTimes = (block: IPAMBlock) =>
  Array.from(allocationsOf(block)).flatMap(({ releasedAt }) => releasedAt ?? []);

/** Why addresses of a block are not free, and what frees the first one: a block that holds any cannot be claimed. */
function usesIn(block: IPAMBlock, inventory: Inventory): { readonly because: string; readonly command: string }[] {
  const usages = usageOf(inventory.snapshot);
  return Array.from(allocationsOf(block)).flatMap((allocation) => {
    const { inUse, because } = usages.of(allocation);
    if (inUse === "no" || allocation.releasedAt !== undefined) return [];
    const [user] = usages.usersOf(allocation.address);
    const command = deleteUser({ address: allocation.address, user: user && userText(user) });
    return [{ because: `${because} (${allocation.address})`, command }];
  });
}
