/**
 * Invariants 1 to 36 of Calico's IPAM data, asked of everything stored at one moment. Pure. Those about what happened in
 * between (8, 11 to 20, 26) are asked of a log, by `history.ts`.
 */
import { checkAffinities } from "./affinities.ts";
import { checkBlocks } from "./blocks.ts";
import { checkHandles } from "./handles.ts";
import { type CheckOptions, type Finding, isLive, type ListedObjects } from "./model.ts";
import { checkReporting } from "./reporting.ts";

export type { CheckOptions, Counts, Finding, ListedObjects, NodeLabels, PoolReport } from "./model.ts";

/** What no set of objects may show, by the invariant's number; empty where all is sound. */
export function check(objects: ListedObjects, options: CheckOptions): Finding[] {
  const live: ListedObjects = {
    ...objects,
    blocks: objects.blocks.filter(isLive),
    affinities: objects.affinities.filter(isLive),
    handles: objects.handles.filter(isLive),
  };
  return [
    ...checkBlocks(objects.blocks, options),
    ...checkAffinities(live, options),
    ...checkHandles(live, options),
    ...checkReporting(live, options),
  ];
}
