/** A snapshot with what everybody asks of it worked out once: rules in force, pools, live rows, who has which address. */
import { isBlockSize } from "../api/block-sizes.ts";
import { DEFAULT_MAX_BLOCKS_PER_HOST, effectiveConfig, type IPAMConfig } from "../api/config-rules.ts";
import { SINGLETON_NAME } from "../api/installation.ts";
import { rangeOfBlockName } from "../api/names.ts";
import type { BlockAffinity, IPAMBlock, IPAMHandle } from "../api/v3.ts";
import { freeOrdinals, rangeOf, timestamp } from "../ipam/block.ts";
import { problemOf } from "../ipam/block-problem.ts";
import { type Pool, poolAround, poolsOf } from "../ipam/pools.ts";
import { reservedAddresses, withheld } from "../ipam/reserved.ts";
import { type AddressSet, addressSet } from "../net/address-set.ts";
import type { Cidr } from "../net/cidr.ts";
import { type BlockIndex, blockIndex } from "./block-index.ts";
import { readable } from "./readable.ts";
import type { Snapshot } from "./snapshot.ts";

export interface Inventory {
  readonly snapshot: Snapshot;
  /** The stored configuration with the defaults filled in, whether or not it is valid. */
  readonly config: IPAMConfig;
  /** Most blocks a node may own. */
  readonly cap: number;
  readonly pools: readonly Pool[];
  readonly reserved: AddressSet;
  /** Rows that are not marked as deleted. */
  readonly blocks: readonly IPAMBlock[];
  readonly index: BlockIndex;
  readonly affinities: readonly BlockAffinity[];
  readonly handles: readonly IPAMHandle[];
}

export function inventoryOf(stored: Snapshot): Inventory {
  const snapshot = readable(stored);
  const configuration = snapshot.configurations.find(({ metadata }) => metadata.name === SINGLETON_NAME);
  const blocks = snapshot.blocks.filter(isLive);
  const config = effectiveConfig(configuration?.spec);
  return {
    snapshot,
    config,
    cap: config.maxBlocksPerHost || DEFAULT_MAX_BLOCKS_PER_HOST,
    pools: poolsOf(snapshot.pools),
    reserved: reservedAddresses(snapshot.reservations),
    blocks,
    index: blockIndex(blocks),
    affinities: snapshot.affinities.filter(isLive),
    handles: snapshot.handles.filter(isLive),
  };
}

const isLive = ({ spec }: { readonly spec: { readonly deleted?: boolean | undefined } }) => spec.deleted !== true;

/** Blocks that do not contradict themselves, and can be counted. */
export function soundBlocks({ blocks }: Inventory): IPAMBlock[] {
  return blocks.filter((block) => problemOf(block) === undefined);
}

/** Ranges of blocks that contradict themselves or cannot be read: nothing is handed out of them. */
export function unsoundRanges({ snapshot, blocks }: Inventory): Cidr[] {
  const unread = snapshot.malformed.flatMap(({ kind, name }) =>
    kind === "IPAMBlock" ? (rangeOfBlockName(name) ?? []) : [],
  );
  const unsound = [...blocks.filter((block) => problemOf(block) !== undefined).map(rangeOf), ...unread];
  return unsound.filter(({ prefix, version }) => isBlockSize(prefix, version));
}

/** Whether a range is cut as the pool around it cuts its blocks. */
export function isCutRight(inventory: Inventory, range: Cidr): boolean {
  return poolAround(inventory.pools, range)?.blockSize === range.prefix;
}

/** Ordinals that the library hands out: free, not reserved, and covered by no other block. */
export function freeIn({ index, reserved }: Inventory, block: IPAMBlock): number[] {
  const others = index.overlapping(block);
  if (others.length === 0) return freeOrdinals(block, reserved);
  return freeOrdinals(block, withheld(reserved, addressSet(others.map(rangeOf))));
}

/** From when on an address that was released at a time can be handed out again: RFC 3339 in UTC, whole seconds. */
export function freeAt({ config }: Inventory, releasedAt: string): string {
  return timestamp(new Date(Date.parse(releasedAt) + config.ipCooldownSeconds * 1000));
}
