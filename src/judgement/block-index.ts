/** Finds the blocks that share addresses with a range: several where blocks overlap. */
import type { IPAMBlock } from "../api/v3.ts";
import { type Address, width } from "../net/address.ts";
import { type Cidr, cidrOf, parseCidr } from "../net/cidr.ts";
import { CidrIndex } from "../net/cidr-index.ts";

export interface BlockIndex {
  /** The blocks that an address is in, the widest first. */
  readonly with: (address: Address) => readonly IPAMBlock[];
  /** Other blocks that share addresses with a block. */
  readonly overlapping: (block: IPAMBlock) => readonly IPAMBlock[];
}

const isWider = (a: IPAMBlock, b: IPAMBlock) => b.spec.allocations.length - a.spec.allocations.length;
const NONE: readonly IPAMBlock[] = [];

/** Built when it is first asked. A block whose CIDR cannot be read covers no address that could be looked up. */
export function blockIndex(blocks: readonly IPAMBlock[]): BlockIndex {
  let index: CidrIndex<IPAMBlock> | undefined;
  const find = (range: Cidr) => {
    index ??= indexOf(blocks);
    return index.overlapping(range).sort(isWider);
  };
  return {
    with: (address) => find(cidrOf(address, width(address.version))),
    overlapping: (block) => {
      const range = parseCidr(block.spec.cidr);
      return range ? find(range).filter(({ metadata }) => metadata.name !== block.metadata.name) : NONE;
    },
  };
}

function indexOf(blocks: readonly IPAMBlock[]): CidrIndex<IPAMBlock> {
  const index = new CidrIndex<IPAMBlock>();
  for (const block of blocks) {
    const range = parseCidr(block.spec.cidr);
    if (range) index.add(range, block);
  }
  return index;
}
