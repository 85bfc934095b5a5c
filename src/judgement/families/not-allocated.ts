/** Addresses that somebody has, and that no block holds for them. */
import { blockName } from "../../api/names.ts";
import { blockOf, disabledBecause, poolFor } from "../../ipam/pools.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { formatCidr } from "../../net/cidr.ts";
import type { Report } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { isLeaving, type User, userText } from "../users.ts";
import type { AddressCode } from "./address-codes.ts";

export function notAllocated(
  address: string,
  users: readonly User[],
  inventory: Inventory,
  report: Report<AddressCode>,
): void {
  const staying = users.filter((user) => !isLeaving(user));
  const parsed = parseAddress(address);
  const [first] = staying;
  if (first === undefined || parsed === undefined) return;
  const object = { kind: first.kind, name: userText(first).slice(first.kind.length + 1) };
  const say = (code: AddressCode, message: string) => report(code, object, message, { address, user: userText(first) });
  const names = staying.map(userText).join(" and ");
  const pool = poolFor(inventory.pools, parsed);
  const closed = pool && disabledBecause(pool);
  if (pool === undefined) say("InUseOutsidePools", `${address} is in use by ${names}, and in no pool`);
  else if (closed) say("InUseOutsidePools", `${address} is in use by ${names}; its pool "${pool.name}" ${closed}`);
  else if (!isInUnreadable(parsed, pool, inventory)) {
    say("InUseNotAllocated", `${address} of pool "${pool.name}" is in use by ${names}, and not allocated`);
  }
}

/** Of a block that cannot be read, nobody knows what it holds. */
function isInUnreadable(address: Address, pool: Inventory["pools"][number], { snapshot }: Inventory): boolean {
  if (!snapshot.malformed.some(({ kind }) => kind === "IPAMBlock")) return false;
  const name = blockName(formatCidr(blockOf(pool, address)));
  return snapshot.malformed.some((object) => object.kind === "IPAMBlock" && object.name === name);
}
