/** Collection of a block that nobody writes any more. */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { collect, isEmpty } from "./block.ts";
import { checkBlock } from "./block-problem.ts";
import type { IPAMConfig } from "./config.ts";
import { type Context, writeBlock } from "./context.ts";
import { deleteBlock } from "./give-up.ts";

/**
 * Frees what has cooled down in the block as given: one write at the revision it was read at, none where there is
 * nothing to free. A block that nobody owns and that is empty then is deleted.
 * @throws DatastoreError Conflict, NotFound: the block was changed meanwhile; look at it again later
 */
export async function garbageCollectColdIPs(
  context: Context,
  { ipCooldownSeconds }: Pick<IPAMConfig, "ipCooldownSeconds">,
  block: IPAMBlock,
  options: CallOptions,
): Promise<void> {
  checkBlock(block);
  const collected = collect(block, ipCooldownSeconds, context.clock());
  if (collected === block) return;
  if (isEmpty(collected) && !collected.spec.affinity) await deleteBlock(context, block, options);
  else await writeBlock(context, collected, options);
}
