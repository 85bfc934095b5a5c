/** What is known of an address that is asked for by name. */
import { disabledBecause, poolFor } from "../../ipam/pools.ts";
import { allocationAt } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { freeAt, type Inventory } from "../../judgement/inventory.ts";
import { parseAddress } from "../../net/address.ts";
import { has } from "../../net/address-set.ts";
import { whoseText } from "../release/standing.ts";

/** Why it cannot be had; undefined where it can, as far as can be seen. */
export function takenBecause(inventory: Inventory, ip: string): string | undefined {
  const address = parseAddress(ip)!;
  const pool = poolFor(inventory.pools, address);
  if (pool === undefined) return "is in no pool";
  const closed = disabledBecause(pool);
  if (closed !== undefined) return `its pool "${pool.name}" ${closed}`;
  const held = inventory.index.with(address).flatMap((block) => allocationAt(block, address) ?? []);
  const allocated = held.find(({ releasedAt }) => releasedAt === undefined);
  if (allocated) return `is ${whoseText(allocated)}`;
  const { inUse, because } = usageOf(inventory.snapshot).at(ip);
  if (inUse === "yes") return `is not allocated and in use: ${because}`;
  const [cooling] = held;
  return cooling && `cools down until ${freeAt(inventory, cooling.releasedAt!)}`;
}

/** What to know before it is taken. */
export function notesOn({ reserved }: Inventory, ip: string): string[] {
  return has(reserved, parseAddress(ip)!) ? [`note: ${ip} is reserved, which keeps it only from being chosen`] : [];
}
