/** Prefix lengths of blocks. */
import type { IpVersion } from "../net/address.ts";

/** Where a pool names none. */
export const DEFAULT_BLOCK_SIZE = { 4: 26, 6: 122 } as const;

/** Largest and smallest block: a larger one does not fit into an object. */
export const BLOCK_SIZES = { 4: [20, 32], 6: [116, 128] } as const;

export function isBlockSize(size: number | undefined, version: IpVersion): size is number {
  const [largest, smallest] = BLOCK_SIZES[version];
  return size !== undefined && Number.isInteger(size) && size >= largest && size <= smallest;
}
