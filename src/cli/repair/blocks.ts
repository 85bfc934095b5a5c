/** Mends what is wrong with a block by itself. */
import type { IPAMBlock } from "../../api/v3.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { nextVersion } from "../../ipam/block.ts";
import { retryLostRaces } from "../../ipam/retry.ts";
import { allocationsOf } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { deleteUnused, keptWholeBecause } from "../writing/unused-block.ts";
import type { BlockFix } from "./block-fixes.ts";
import { CHANGED, type Mender, type Mending, NOT_SO_ANY_MORE, named } from "./mending.ts";

/** The fix is worked out anew from what is stored, as often as somebody else writes the block first. */
export function byFix(fix: BlockFix): Mender {
  return async (mending, [{ object }]) => {
    const seen = named(mending.looks.inventory.blocks, object.name);
    const attempt = () => fixOnce(mending, seen, fix);
    return retryLostRaces(attempt, { what: `mending IPAMBlock "${object.name}"`, lost: ["Conflict"] });
  };
}

async function fixOnce(mending: Mending, seen: IPAMBlock, fix: BlockFix) {
  const { datastore } = mending;
  try {
    const block = await datastore.get("IPAMBlock", seen.metadata.name, { fresh: true });
    if (block.metadata.uid !== seen.metadata.uid) return "was made anew since it was looked at";
    const fixed = fix(block, { now: mending.now(), isInUse: await usersOf(mending, block) });
    if (fixed === block) return "cannot be mended as it is: an address in question is in use, or it is mended already";
    await datastore.update({ ...nextVersion(fixed), kind: "IPAMBlock" });
    return undefined;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return "is gone";
    throw error;
  }
}

/** What nobody can say counts as in use. */
async function usersOf({ looks, ownersNow }: Mending, block: IPAMBlock): Promise<(address: string) => boolean> {
  const usages = usageOf(await ownersNow(looks.inventory.snapshot, { blocks: [block], allocations: [] }));
  return (address) => usages.at(address).inUse !== "no";
}

/** A block of nobody's that holds nothing. */
export const deleteEmpty: Mender = async (mending, [{ object }]) => {
  const seen = named(mending.looks.inventory.blocks, object.name);
  if (!mending.looks.isUnchanged(seen)) return CHANGED;
  return deleteUnused(mending, mending.looks.inventory.snapshot, seen);
};

/** Whoever reads an object that is marked as deleted removes it: a block is judged as it was listed. */
export const finishDeletion: Mender = async (mending, [{ object }]) => {
  const kept = object.kind === "IPAMBlock" ? await markedKeptBecause(mending, object.name) : undefined;
  if (kept !== undefined) return kept;
  try {
    await mending.datastore.get(object.kind as "IPAMBlock", object.name, { fresh: true });
    return NOT_SO_ANY_MORE;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
};

async function markedKeptBecause({ looks, ownersNow }: Mending, name: string): Promise<string | undefined> {
  const { snapshot } = looks.inventory;
  const block = named(snapshot.blocks, name);
  const now = await ownersNow(snapshot, { blocks: [block], allocations: [...allocationsOf(block)] });
  return keptWholeBecause(now, block);
}
