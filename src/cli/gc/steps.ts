/** How each decision of the collection is carried out: looked at once more, then written at the revision it was seen at. */
import type { IPAMBlock } from "../../api/v3.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { isIpamError } from "../../ipam/errors.ts";
import type { Decision } from "../../judgement/collection.ts";
import { releaseStep } from "../release/unit.ts";
import { deleteAsSeen, unlessLost } from "../writing/as-seen.ts";
import type { Step } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";

export function stepOf(workplace: Workplace, decision: Exclude<Decision, { readonly action: "keep" }>): Step {
  const { action, why } = decision;
  const { datastore } = workplace;
  if (action === "release") {
    const { allocations } = decision;
    return releaseStep(workplace, { handle: allocations[0]!.handle, allocations }, why);
  }
  if (action === "delete handle") {
    const { handle } = decision;
    const run = () => deleteAsSeen(datastore, "IPAMHandle", handle);
    return { action: "delete", object: `IPAMHandle/${handle.metadata.name}`, why, run };
  }
  const { block } = decision;
  const { name } = block.metadata;
  const step = { object: `IPAMBlock/${name}`, lane: name, why };
  if (action === "delete block") {
    return { ...step, action: "delete", run: () => deleteAsSeen(datastore, "IPAMBlock", block) };
  }
  if (action === "free") return { ...step, action, run: () => freeCold(workplace, block) };
  return { ...step, action, run: () => giveUp(workplace, block) };
}

/** What has cooled down has done so whoever wrote the block since. */
function freeCold({ datastore, ipam }: Workplace, { metadata }: IPAMBlock): Promise<string | undefined> {
  const collecting = async () => {
    const { ipCooldownSeconds = 0 } = await storedConfig(datastore);
    const block = await datastore.get("IPAMBlock", metadata.name, { fresh: true });
    await ipam.garbageCollectColdIPs({ ipCooldownSeconds }, block);
  };
  return unlessLost(collecting());
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
async function giveUp({ ipam }: Workplace, block: IPAMBlock): Promise<string | undefined> {
  try {
    await ipam.releaseBlockAffinity(block, true);
    return undefined;
  } catch (error) {
    if (isIpamError(error, "BlockNotEmpty")) return "is in use again";
    throw error;
  }
}
