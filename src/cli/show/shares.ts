/** What keeps the counts of a pool or a block from adding up, and the lines that say so. Pure. */
import type { IPAMBlock } from "../../api/v3.ts";
import { addressAt, rangeOf } from "../../ipam/block.ts";
import type { Utilization } from "../../ipam/utilization.ts";
import { width } from "../../net/address.ts";
import { type AddressSet, has, touches } from "../../net/address-set.ts";
import { type Cidr, cidrOf, contains } from "../../net/cidr.ts";

/** In use + reserved - reservedInUse + available + withheld is the capacity. */
export interface Shares extends Utilization {
  /** Of those in use, how many are reserved too. */
  readonly reservedInUse: bigint;
  /** Neither in use nor reserved, and yet not handed out: blocks overlap there, or contradict themselves. */
  readonly withheld: bigint;
}

export function sharesOf(counts: Utilization, reservedInUse: bigint): Pick<Shares, "reservedInUse" | "withheld"> {
  const { capacity, inUse, reserved, available } = counts;
  return { reservedInUse, withheld: capacity - inUse - reserved + reservedInUse - available };
}

/** Addresses of a range that blocks hold and that are reserved, each once. */
export function reservedInUse(range: Cidr, blocks: readonly IPAMBlock[], reserved: AddressSet): bigint {
  const found = new Set<bigint>();
  for (const block of blocks) {
    const own = rangeOf(block);
    if (!touches(reserved, own)) continue;
    for (const [ordinal, index] of block.spec.allocations.entries()) {
      const address = addressAt(own, ordinal);
      const isInside = contains(range, cidrOf(address, width(range.version)));
      if (index !== null && isInside && has(reserved, address)) found.add(address.value);
    }
  }
  return BigInt(found.size);
}

type Row = Shares & { readonly name: string };

/** `p4 2, p6 1`; undefined where all counts are 0. */
function counted<R extends { readonly name: string }>(rows: readonly R[], count: (row: R) => bigint) {
  const some = rows.filter((row) => count(row) > 0n);
  return some.length === 0 ? undefined : some.map((row) => `${row.name} ${count(row)}`).join(", ");
}

/** Why columns of `show` do not add up, a line for each reason that there is. */
export function differences(pools: readonly Row[]): string[] {
  const [cooling, both, withheld] = [
    counted(pools, ({ inCooldown }) => inCooldown),
    counted(pools, (row) => row.reservedInUse),
    counted(pools, (row) => row.withheld),
  ];
  return [
    ...(cooling ? [`IPS IN USE counts those that cool down: ${cooling}`] : []),
    ...(both ? [`in use and reserved, and counted as both: ${both}`] : []),
    ...(withheld ? [`${WITHHELD}: ${withheld}. See ipamctl check`] : []),
  ];
}

const WITHHELD = "neither in use nor free, because blocks overlap or are malformed";

/** What is not free, where that is more than what is in use: `p4 5 in use, 1 reserved`. */
export function notFree(pools: readonly Row[], heading = "not free"): string | undefined {
  const texts = pools.flatMap((row) => {
    const { inUse, inCooldown, reserved, withheld } = row;
    const parts = [
      [inUse - inCooldown, "in use"],
      [inCooldown, "cooling down"],
      [reserved - row.reservedInUse, "reserved"],
      [withheld, "withheld"],
    ] as const;
    const present = parts.filter(([count]) => count > 0n);
    const isPlain = present.every(([, what]) => what === "in use");
    return isPlain ? [] : [`${row.name} ${present.map(([count, what]) => `${count} ${what}`).join(" + ")}`];
  });
  return texts.length === 0 ? undefined : `${heading}: ${texts.join(", ")}`;
}

/** What pools have besides their blocks. */
export function besidesBlocks(pools: readonly (Row & { readonly uncovered: bigint })[]): string[] {
  const uncovered = counted(pools, (row) => row.uncovered);
  return uncovered === undefined ? [] : [`free, and in no block yet: ${uncovered}`];
}
