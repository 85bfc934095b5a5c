/** Which empty blocks a collection takes from their owners. */
import type { IPAMBlock } from "../api/v3.ts";
import { isEmpty, rangeOf } from "../ipam/block.ts";
import { problemOf } from "../ipam/block-problem.ts";
import type { Decision, TwoLooks } from "./collection.ts";
import { usageOf } from "./in-use.ts";
import { type Inventory, isCutRight } from "./inventory.ts";
import { affinityHost, nodeOwner } from "./owners.ts";
import type { Snapshot } from "./snapshot.ts";

/** A younger claim may be waiting for its first address. */
const CLAIM_MS = 60_000;

const nameOf = ({ metadata }: IPAMBlock) => `IPAMBlock/${metadata.name}`;
const keep = (block: IPAMBlock, why: string): Decision => ({ action: "keep", object: nameOf(block), why });

const FIRST_SEEN = "was seen empty and nobody's for the first time";

/** A decision for each empty block, and for those that are kept for a node that is gone. */
export function emptyBlockDecisions(looks: TwoLooks, now: Date): Decision[] {
  const { inventory, lasting } = looks;
  const usages = usageOf(inventory.snapshot);
  const gone = goneNodes(inventory);
  const unowned = new Set(lasting.flatMap(({ code, object }) => (code === "EmptyUnownedBlock" ? [object.name] : [])));
  const spare = spareBlocks(inventory);
  return inventory.blocks.flatMap((block): Decision[] => {
    const node = nodeOwner(block);
    const isGone = node !== undefined && gone(node);
    if (problemOf(block) !== undefined) return [];
    if (!isEmpty(block)) return isGone ? [keep(block, stillHolds(block, node))] : [];
    const { inUse, because } = usages.ofEmpty(block);
    if (inUse !== "no") return [keep(block, `holds nothing, and is kept: ${because}`)];
    if (!looks.isUnchanged(block)) return [keep(block, "is empty, and was changed between the two looks")];
    if (isGone) return [{ action: "give up", block, why: `is empty, and its node ${node} is gone` }];
    if (block.spec.affinity === undefined) {
      const isSure = unowned.has(block.metadata.name);
      return [isSure ? { action: "delete block", block, why: "is empty, and nobody's" } : keep(block, FIRST_SEEN)];
    }
    if (node !== undefined && !isCutRight(inventory, rangeOf(block)))
      return [{ action: "give up", block, why: "is empty, and in no pool that has blocks of its size" }];
    return [ofOwner(block, node, spare, now)];
  });
}

function ofOwner(block: IPAMBlock, node: string | undefined, spare: ReadonlySet<string>, now: Date): Decision {
  if (node === undefined) return keep(block, `is empty, and is for ${affinityHost(block)} to give back`);
  if (!spare.has(block.metadata.name)) return keep(block, `is empty, and the last one of ${node}`);
  const { affinityClaimTime } = block.spec;
  if (affinityClaimTime !== undefined && now.getTime() - Date.parse(affinityClaimTime) < CLAIM_MS) {
    return keep(block, `is empty, and ${node} claimed it only at ${affinityClaimTime}`);
  }
  return { action: "give up", block, why: `is empty, and ${node} has others` };
}

function stillHolds({ spec }: IPAMBlock, node: string): string {
  const held = spec.allocations.filter((index) => index !== null).length;
  return `its node ${node} is gone, and ${held} of its addresses are not free`;
}

/** Whether the node is known not to be there. */
export function isGone({ nodes }: Pick<Snapshot, "nodes">, node: string): boolean {
  return nodes !== undefined && !nodes.some(({ name }) => name === node);
}

function goneNodes({ snapshot }: Inventory): (node: string) => boolean {
  const names = snapshot.nodes && new Set(snapshot.nodes.map(({ name }) => name));
  return (node) => names !== undefined && !names.has(node);
}

/** Empty blocks that a node can do without: it keeps one of each family. */
function spareBlocks({ blocks }: Inventory): Set<string> {
  const owned = Map.groupBy(blocks, ({ spec }) => `${spec.affinity} ${spec.cidr.includes(":") ? 6 : 4}`);
  const spare = Array.from(owned.values()).flatMap((all) => {
    const empty = all.filter((block) => problemOf(block) === undefined && isEmpty(block));
    return empty.length < all.length ? empty : empty.slice(1);
  });
  return new Set(spare.map(({ metadata }) => metadata.name));
}
