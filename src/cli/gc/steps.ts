/** How each decision of the collection is carried out: looked at once more, then written at the revision it was seen at. */
import type { IPAMBlock } from "../../api/v3.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { isIpamError } from "../../ipam/errors.ts";
import { coolingAndUsed, type Decision } from "../../judgement/collection.ts";
import { isGone } from "../../judgement/empty-blocks.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { nodeOwner } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { releaseSteps, unlessInUse } from "../release/batch.ts";
import { deleteAsSeen, unlessLost } from "../writing/as-seen.ts";
import type { Step } from "../writing/plan.ts";
import { deleteUnused, keptEmptyBecause } from "../writing/unused-block.ts";
import type { Workplace } from "../writing/workplace.ts";

/** A step for each decision that something goes, in their order. */
export function stepsOf(workplace: Workplace, seen: Snapshot, decisions: readonly Decision[]): Step[] {
  const planned = decisions.flatMap((decision) => {
    if (decision.action !== "release") return [];
    const { allocations, why } = decision;
    return [{ unit: { handle: allocations[0]!.handle, allocations }, why }];
  });
  const releases = releaseSteps({ workplace, seen, keptBecause: unlessInUse }, planned).values();
  return decisions.flatMap((decision) => {
    if (decision.action === "keep") return [];
    return decision.action === "release" ? [releases.next().value!] : [stepOf(workplace, seen, decision)];
  });
}

type Other = Exclude<Decision, { readonly action: "keep" | "release" }>;

function stepOf(workplace: Workplace, seen: Snapshot, decision: Other): Step {
  const { action, why } = decision;
  const { datastore } = workplace;
  if (action === "delete handle") {
    const { handle } = decision;
    const run = () => deleteAsSeen(datastore, "IPAMHandle", handle);
    return { action: "delete", object: `IPAMHandle/${handle.metadata.name}`, why, run };
  }
  const { block } = decision;
  const { name } = block.metadata;
  const step = { object: `IPAMBlock/${name}`, lane: name, why };
  if (action === "delete block") {
    return { ...step, action: "delete", run: () => deleteUnused(workplace, seen, block) };
  }
  if (action === "free") return { ...step, action, run: () => freeCold(workplace, seen, block) };
  return { ...step, action, run: () => giveUp(workplace, seen, block) };
}

/** What has cooled down has done so whoever wrote the block since. */
async function freeCold(workplace: Workplace, seen: Snapshot, { metadata }: IPAMBlock): Promise<string | undefined> {
  const { datastore, ipam } = workplace;
  let used: string | undefined;
  const collecting = async () => {
    const { ipCooldownSeconds = 0 } = await storedConfig(datastore);
    const block = await datastore.get("IPAMBlock", metadata.name, { fresh: true });
    used = coolingAndUsed(block, usageOf(await workplace.ownersNow(seen, { blocks: [block], allocations: [] })));
    if (used === undefined) await ipam.garbageCollectColdIPs({ ipCooldownSeconds }, block);
  };
  return (await unlessLost(collecting())) ?? used;
}

/** Also one that breaks a rule: addresses cool down as long as it says. */
async function storedConfig(datastore: Workplace["datastore"]) {
  try {
    return (await datastore.get("IPAMConfiguration", "default", { fresh: true })).spec;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return {};
    throw error;
  }
}

/** The library looks once more whether it is empty, and its owner's. */
async function giveUp(workplace: Workplace, seen: Snapshot, block: IPAMBlock): Promise<string | undefined> {
  const { ipam } = workplace;
  const now = await workplace.ownersNow(seen, { blocks: [block], allocations: [] });
  const node = nodeOwner(block);
  if (node !== undefined && isGone(seen, node) && !isGone(now, node)) return `node ${node} is there again`;
  const kept = keptEmptyBecause(now, block);
  if (kept !== undefined) return kept;
  try {
    await ipam.releaseBlockAffinity(block, true);
    return undefined;
  } catch (error) {
    if (isIpamError(error, "BlockNotEmpty")) return "is in use again";
    throw error;
  }
}
