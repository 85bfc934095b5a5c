/** What is asked right before a block goes: whether an address of it is in use. */
import type { IPAMBlock } from "../../api/v3.ts";
import { problemOf } from "../../ipam/block-problem.ts";
import { allocationsOf } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { asSeen, unlessLost } from "./as-seen.ts";
import type { Workplace } from "./workplace.ts";

/** Whether it holds an address that was not released: then it stays when it is given up. */
export function holdsAddresses(block: IPAMBlock): boolean {
  return [...allocationsOf(block)].some(({ releasedAt }) => releasedAt === undefined);
}

/** Why a block that holds nothing must stay; undefined where surely nobody uses an address of it. */
export function keptEmptyBecause(now: Snapshot, block: IPAMBlock): string | undefined {
  const problem = problemOf(block);
  if (problem !== undefined) return `IPAMBlock "${block.metadata.name}" is malformed: ${problem}`;
  const { inUse, because } = usageOf(now).ofEmpty(block);
  return inUse === "no" ? undefined : because;
}

/** Why a block must not be removed with what it holds; undefined where surely nobody uses an address of it. */
export function keptWholeBecause(now: Snapshot, block: IPAMBlock): string | undefined {
  for (const allocation of allocationsOf(block)) {
    const { inUse, because } = usageOf(now).of(allocation);
    if (inUse !== "no") return `${allocation.address} is kept: ${because}`;
  }
  return keptEmptyBecause(now, block);
}

/** Deletes an empty block exactly as it was seen. @returns why not, where it is not so any more, or may be in use */
export async function deleteUnused(
  { datastore, ownersNow }: Pick<Workplace, "datastore" | "ownersNow">,
  earlier: Snapshot,
  seen: IPAMBlock,
): Promise<string | undefined> {
  const found = await asSeen(datastore, "IPAMBlock", seen);
  if ("changed" in found) return found.changed;
  const now = await ownersNow(earlier, { blocks: [found.object], allocations: [] });
  return keptEmptyBecause(now, found.object) ?? unlessLost(datastore.delete(found.object));
}
