/** A host that its pool no longer selects gives up a block with the block's last address. */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { affinityText, ownerOf } from "./affinity.ts";
import { isEmpty, rangeOf } from "./block.ts";
import { giveUpBlock } from "./claim.ts";
import { type Context, listPools } from "./context.ts";
import { isEnabled, poolAround, poolsOf, selectsAllNodes, selectsNode } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";
import { unlessKept } from "./search.ts";

interface AfterRelease {
  readonly context: Context;
  readonly options: CallOptions;
  readonly cooldownSeconds: number;
}

/** The addresses are released by now: whatever fails here is told, and left to the host's next autoAssign. */
export async function giveUpIfDeselected(after: AfterRelease, block: IPAMBlock): Promise<void> {
  try {
    if (isEmpty(block)) await giveUp(after, block);
  } catch (error) {
    after.context.warn(`block ${block.spec.cidr} of ${block.spec.affinity} is not given up: ${error}`);
  }
}

async function giveUp({ context, options, cooldownSeconds }: AfterRelease, block: IPAMBlock): Promise<void> {
  const owner = ownerOf(block);
  const pool = poolAround(poolsOf(await listPools(context, options)).filter(isEnabled), rangeOf(block));
  if (!owner || !pool || selectsAllNodes(pool.source)) return;
  const node = await context.nodes(owner.host, options);
  if (!node || selectsNode(pool.source, node)) return;
  const how = { requireEmpty: true, cooldownSeconds };
  const what = `giving up block ${block.spec.cidr} of ${affinityText(owner)}`;
  await retryLostRaces(() => unlessKept(giveUpBlock(context, owner, rangeOf(block), how, options)), {
    what,
    ...options,
  });
}
