/** Which counts of an answer are JSON numbers, and which are text. A field of a kind has one type, whatever its value. */
import type { BlockRow, PoolRow } from "./pools.ts";

/**
 * Addresses that blocks hold are listed one by one in stored objects, so that their number is far below 2^53. What a pool
 * covers may be 2^128: those counts are text, of IPv4 pools too.
 */
export function poolValue<T extends PoolRow>(row: T) {
  const { inUse, inCooldown, reservedInUse } = row;
  return { ...row, inUse: Number(inUse), inCooldown: Number(inCooldown), reservedInUse: Number(reservedInUse) };
}

/** A block lists each of its addresses: all its counts are numbers. */
export function blockValue(row: BlockRow) {
  const { capacity, inUse, inCooldown, reserved, reservedInUse, available, withheld } = row;
  const counts = { capacity, inUse, inCooldown, reserved, reservedInUse, available, withheld };
  return { ...row, ...Object.fromEntries(Object.entries(counts).map(([field, count]) => [field, Number(count)])) };
}
