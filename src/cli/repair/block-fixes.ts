/** How a block's own contradictions are taken out, a code each. Pure: nothing else of the block changes. */
import type { AllocationAttribute, IPAMBlock } from "../../api/v3.ts";
import { rangeOf, sequenceOf, timestamp, withoutUnused, withSpec } from "../../ipam/block.ts";
import { addressTexts } from "../../judgement/allocations.ts";
import { isLateRelease } from "../../judgement/families/blocks.ts";

export interface FixContext {
  readonly now: Date;
  /** Whether somebody has the address. */
  readonly isInUse: (address: string) => boolean;
}

/** The block without what is wrong; the very same where nothing is, or nothing may be done. */
export type BlockFix = (block: IPAMBlock, context: FixContext) => IPAMBlock;

const pointsNowhere = ({ spec }: IPAMBlock, ordinal: number) => {
  const index = spec.allocations[ordinal];
  return index !== null && index !== undefined && spec.attributes[index] === undefined;
};

/** An address that somebody has stays taken: it would be given twice. */
const freeNowhere: BlockFix = (block, { isInUse }) => {
  const { allocations, unallocated, sequenceNumberForAllocation } = block.spec;
  const textAt = addressTexts(rangeOf(block));
  const freed = allocations.flatMap((_, ordinal) =>
    pointsNowhere(block, ordinal) && !isInUse(textAt(ordinal)) ? [ordinal] : [],
  );
  if (freed.length === 0) return block;
  const numbers = Object.entries(sequenceNumberForAllocation ?? {}).filter(([key]) => !freed.includes(Number(key)));
  return withSpec(block, {
    allocations: allocations.map((index, ordinal) => (freed.includes(ordinal) ? null : index)),
    unallocated: [...new Set([...unallocated, ...freed])],
    sequenceNumberForAllocation: Object.fromEntries(numbers),
  });
};

/** Entries are renumbered, which an index that points nowhere would not survive. */
const dropUnused: BlockFix = (block) =>
  block.spec.allocations.some((_, ordinal) => pointsNowhere(block, ordinal)) ? block : withoutUnused(block);

const changeFree =
  (change: (unallocated: readonly number[], block: IPAMBlock) => number[]): BlockFix =>
  (block) => {
    const unallocated = change(block.spec.unallocated, block);
    return unallocated.join() === block.spec.unallocated.join() ? block : withSpec(block, { unallocated });
  };

const isFree = ({ spec }: IPAMBlock, ordinal: number) => spec.allocations[ordinal] === null;
const lostOf = (block: IPAMBlock, free: ReadonlySet<number>) =>
  [...block.spec.allocations.keys()].filter((ordinal) => isFree(block, ordinal) && !free.has(ordinal));

/** Without its number, an allocation gets the one of this write. */
const dropNumbers: BlockFix = (block) => {
  const { sequenceNumberForAllocation: numbers = {}, allocations } = block.spec;
  const last = sequenceOf(block);
  const isSound = ([key, value]: [string, bigint | number]) =>
    /^(0|[1-9]\d*)$/.test(key) && (allocations[Number(key)] ?? null) !== null && BigInt(value) < last;
  const kept = Object.entries(numbers).filter(isSound);
  if (kept.length === Object.keys(numbers).length) return block;
  return withSpec(block, { sequenceNumberForAllocation: Object.fromEntries(kept) });
};

const changeEntries =
  (change: (entry: AllocationAttribute, now: Date) => AllocationAttribute): BlockFix =>
  (block, { now }) => {
    const attributes = block.spec.attributes.map((entry) => change(entry, now));
    const isSame = attributes.every((entry, index) => entry === block.spec.attributes[index]);
    return isSame ? block : withSpec(block, { attributes });
  };

/** Its cooldown begins now. */
const releaseNow = (entry: AllocationAttribute, now: Date) =>
  isLateRelease(entry, now) ? { ...entry, releasedAt: timestamp(now) } : entry;

const bareRelease = (entry: AllocationAttribute, now: Date): AllocationAttribute => {
  const { releasedAt } = entry;
  if (releasedAt === undefined) return entry;
  if (Number.isNaN(Date.parse(releasedAt))) return { releasedAt: timestamp(now) };
  return Object.keys(entry).length === 1 ? entry : { releasedAt };
};

/** What stands before the first control character is the handle. */
const plainHandle = (entry: AllocationAttribute): AllocationAttribute => {
  const { handle_id: handle, ...rest } = entry;
  const plain = handle?.split(/\p{Cc}/u, 1)[0];
  if (handle === plain) return entry;
  return plain === "" ? rest : { ...rest, handle_id: plain };
};

export const BLOCK_FIXES: Readonly<Record<string, BlockFix>> = {
  AllocationPointsNowhere: freeNowhere,
  UnusedAttribute: dropUnused,
  FreeAndAllocated: changeFree((free, { spec }) =>
    free.filter((ordinal) => (spec.allocations[ordinal] ?? null) === null),
  ),
  FreeTwice: changeFree((free) => [...new Set(free)]),
  FreeOutOfRange: changeFree((free, { spec }) => free.filter((ordinal) => ordinal in spec.allocations)),
  LostAddress: changeFree((free, block) => [...free, ...lostOf(block, new Set(free))]),
  BadSequenceNumber: dropNumbers,
  ReleaseInFuture: changeEntries(releaseNow),
  MalformedCooldown: changeEntries(bareRelease),
  MalformedHandleText: changeEntries(plainHandle),
};
