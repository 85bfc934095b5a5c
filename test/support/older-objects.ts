/** Objects as older releases left them, sound in all but what was not there yet. */
import type { BlockAffinity, IPAMBlock, IPAMHandle } from "../../src/api/v3.ts";
import { affinity, block, handle, usedBlock } from "./ipam-data.ts";

/**
 * In blocks of 8: one without sequence numbers and claim time, of which "old" has the first address, with a row without
 * state and type; an empty one with a row without type; and one with no owner, without a handle.
 */
export function olderObjects(): (IPAMBlock | BlockAffinity | IPAMHandle)[] {
  const held = { handle_id: "old", secondary: { node: "node-a" } };
  const unowned = usedBlock("10.0.0.16/29", "nobody", { 0: { secondary: { node: "node-z" } } });
  const { affinity: _owner, affinityClaimTime: _since, ...ofNobody } = unowned.spec;
  return [
    numberless(usedBlock("10.0.0.0/29", "node-a", { 0: held })),
    withoutType(affinity("node-a", "10.0.0.0/29", { state: "" })),
    handle("old", { "10.0.0.0/29": 1 }),
    numberless(block("10.0.0.8/29", { affinity: "host:node-a" })),
    withoutType(affinity("node-a", "10.0.0.8/29")),
    numberless({ ...unowned, spec: ofNobody }),
  ];
}

function numberless(block: IPAMBlock): IPAMBlock {
  const { sequenceNumber: _n, sequenceNumberForAllocation: _per, affinityClaimTime: _since, ...spec } = block.spec;
  return { ...block, spec };
}

function withoutType(row: BlockAffinity): BlockAffinity {
  const { type: _type, ...spec } = row.spec;
  return { ...row, spec };
}
