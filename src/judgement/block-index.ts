/** Finds the blocks that an address is in: several where blocks overlap. */
import type { IPAMBlock } from "../api/v3.ts";
import { type Address, width } from "../net/address.ts";
import { parseCidr } from "../net/cidr.ts";

export type BlockIndex = (address: Address) => readonly IPAMBlock[];

/** One table for each block size: a lookup costs as many steps as there are sizes, however many blocks there are. */
interface Table {
  readonly version: number;
  readonly shift: bigint;
  readonly blocks: Map<bigint, IPAMBlock[]>;
}

/** The widest block first. A block whose CIDR cannot be read holds no address that could be looked up. */
export function blockIndex(blocks: readonly IPAMBlock[]): BlockIndex {
  const tables = new Map<string, Table>();
  for (const block of blocks) {
    const cidr = parseCidr(block.spec.cidr);
    if (cidr === undefined) continue;
    const { version, prefix, base } = cidr;
    const key = `${version}/${prefix}`;
    const table = tables.get(key) ?? { version, shift: BigInt(width(version) - prefix), blocks: new Map() };
    tables.set(key, table);
    const place = base >> table.shift;
    const known = table.blocks.get(place);
    if (known) known.push(block);
    else table.blocks.set(place, [block]);
  }
  const ordered = [...tables.values()].sort((a, b) => Number(b.shift - a.shift));
  return ({ version, value }) =>
    ordered.flatMap((table) => (table.version === version ? (table.blocks.get(value >> table.shift) ?? []) : []));
}
