/** The parts of a pool: their names, ranges and specs. Pure. */

import { LONGEST_OBJECT_NAME } from "../../api/names.ts";
import { plural } from "../../api/plural.ts";
import type { IPPool } from "../../api/v3.ts";
import type { Pool } from "../../ipam/pools.ts";
import { type Cidr, formatCidr, size } from "../../net/cidr.ts";
import { UsageError } from "../usage-error.ts";

const MOST = 1024;

/** @throws UsageError */
export function countOf(text: string): number {
  const count = Number(text);
  const isPower = Number.isInteger(count) && count >= 2 && count <= MOST && (count & (count - 1)) === 0;
  if (/^\d+$/.test(text) && isPower) return count;
  throw new UsageError(`'${text}' is no power of two from 2 to ${MOST}.`);
}

/** Equal ranges, one after the other. @throws Error where a part would be smaller than a block */
export function rangesOf({ name, cidr, blockSize }: Pick<Pool, "name" | "cidr" | "blockSize">, count: number): Cidr[] {
  const prefix = cidr.prefix + Math.log2(count);
  if (prefix > blockSize) {
    const most = 2 ** Math.max(0, blockSize - cidr.prefix);
    throw new Error(`pool "${name}" has ${plural(most, "block")} of /${blockSize}: it cannot be cut into ${count}`);
  }
  const step = size({ ...cidr, prefix });
  return Array.from({ length: count }, (_, index) => ({ ...cidr, base: cidr.base + BigInt(index) * step, prefix }));
}

/** As calicoctl names them; a name that would be too long is cut. */
export function partName(pool: string, index: number, count: number): string {
  const room = LONGEST_OBJECT_NAME - "split--".length - String(count - 1).length;
  return `split-${pool.slice(0, room).replace(/[^a-z0-9]+$/, "")}-${index}`;
}

export interface Part {
  readonly name: string;
  readonly cidr: string;
}

export function partsOf(pool: Pool, count: number): Part[] {
  return rangesOf(pool, count).map((range, index) => ({
    name: partName(pool.name, index, count),
    cidr: formatCidr(range),
  }));
}

/** The part as a pool: what the old one is, without its being disabled for the split. */
export function partPool(
  { apiVersion, kind, spec }: IPPool,
  { name, cidr }: Part,
  disabled: boolean | undefined,
): IPPool {
  const { disabled: _since, ...rest } = spec;
  return { apiVersion, kind, metadata: { name }, spec: { ...rest, cidr, ...(disabled !== undefined && { disabled }) } };
}
