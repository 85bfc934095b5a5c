/** A host gives up the empty blocks of a pool that no longer selects it. */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { Cidr } from "../net/cidr.ts";
import { type AffinityConfig, ownerOf } from "./affinity.ts";
import { isEmpty, rangeOf } from "./block.ts";
import { type Context, listPools } from "./context.ts";
import { giveUpIfEmpty } from "./give-up.ts";
import type { Labelled } from "./nodes.ts";
import { isEnabled, type Pool, poolAround, poolsOf } from "./pools.ts";
import { selectorProblem, selectsAllNodes, selectsNode } from "./selection.ts";

export interface Settling {
  readonly context: Context;
  readonly options: CallOptions;
  readonly cooldownSeconds: number;
}

/** A block in no enabled pool, or in one whose selector is malformed, stays: nothing says that it is no longer wanted. */
export async function giveUpDeselected(
  settling: Settling,
  owner: AffinityConfig,
  cidr: Cidr,
  pools: readonly Pool[],
  readNode: () => Promise<Labelled | undefined>,
): Promise<void> {
  const pool = poolAround(pools.filter(isEnabled), cidr);
  if (!pool || selectsAllNodes(pool.source) || selectorProblem(pool.source)) return;
  const node = await readNode();
  if (node && !selectsNode(pool.source, node)) await giveUpIfEmpty(settling, owner, cidr);
}

/** After a release. The addresses are free by now: what fails here is told, and left to the host's next autoAssign. */
export async function settle(settling: Settling, block: IPAMBlock): Promise<void> {
  const { context, options } = settling;
  try {
    const owner = isEmpty(block) ? ownerOf(block) : undefined;
    if (!owner) return;
    const pools = poolsOf(await listPools(context, options));
    await giveUpDeselected(settling, owner, rangeOf(block), pools, () => context.nodes(owner.host, options));
  } catch (error) {
    context.warn(`block ${block.spec.cidr} of ${block.spec.affinity} is not given up: ${error}`);
  }
}
