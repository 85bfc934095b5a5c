/** Blocks that no arithmetic can be done on, each in its own way: with rows of nobody, and in ranges of their own. */
import type { IPAMBlock } from "../../src/api/v3.ts";
import { block, usedBlock } from "./ipam-data.ts";

/** One whose range is not its name's, one that is an ordinal short, and one that points beyond its attributes. */
export function malformedBlocks(): IPAMBlock[] {
  const whole = usedBlock("10.0.0.24/29", "node-z", { 0: { handle_id: "z", secondary: { node: "node-z" } } });
  const short = block("10.0.0.16/29", { allocations: Array(7).fill(null), affinity: "host:node-z" });
  return [
    { ...block("10.0.0.8/29"), spec: block("10.0.1.8/29", { affinity: "host:node-z" }).spec },
    { ...short, spec: { ...short.spec, unallocated: [0, 1, 2, 3, 4, 5, 6] } },
    { ...whole, spec: { ...whole.spec, allocations: [3, ...whole.spec.allocations.slice(1)] } },
  ];
}
