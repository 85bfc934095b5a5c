/** Invariants 30 to 33: how handles count the addresses of the blocks. The caller gives live objects only. */
import { cutHandle, handleName } from "../../src/api/names.ts";
import type { IPAMBlock, IPAMHandle } from "../../src/api/v3.ts";
import { canonicalCidr } from "../../src/net/cidr.ts";
import { type CheckOptions, type Finding, findings, handleAt, isWindowsReserved, type ListedObjects } from "./model.ts";

/** Addresses per block of one handle object: ids that differ only in case share one. */
type Usage = Map<string, number>;

export function checkHandles({ blocks, handles }: ListedObjects, { mode }: CheckOptions): Finding[] {
  const held = usageByHandle(blocks);
  const counted = new Map(handles.map((handle) => [handle.metadata.name, countsOf(handle)]));
  return [...rows(handles), ...tooLow(blocks, counted), ...(mode === "atRest" ? tooHigh(handles, held) : [])];
}

const rangeOf = (cidr: string) => canonicalCidr(cidr) ?? cidr;
const countsOf = ({ spec }: IPAMHandle): Usage =>
  new Map(Object.entries(spec.block).map(([cidr, count]) => [rangeOf(cidr), count]));

function usageOf({ spec }: IPAMBlock): Usage {
  const usage: Usage = new Map();
  for (const ordinal of spec.allocations.keys()) {
    const handleID = handleAt(spec, ordinal);
    if (handleID === undefined || isWindowsReserved(handleID)) continue;
    const name = handleName(cutHandle(handleID));
    usage.set(name, (usage.get(name) ?? 0) + 1);
  }
  return usage;
}

function usageByHandle(blocks: readonly IPAMBlock[]): Map<string, Usage> {
  const usage = new Map<string, Usage>();
  for (const block of blocks) {
    for (const [name, count] of usageOf(block)) {
      const ofHandle = usage.get(name) ?? new Map<string, number>();
      usage.set(name, ofHandle.set(rangeOf(block.spec.cidr), count));
    }
  }
  return usage;
}

/** 31, 33 */
function rows(handles: readonly IPAMHandle[]): Finding[] {
  return findings(handles, (handle, report) => {
    const { handleID, block } = handle.spec;
    for (const [cidr, count] of Object.entries(block)) {
      if (!(count >= 1)) report(31, `counts ${count} addresses in ${cidr}`);
      if (canonicalCidr(cidr) !== cidr) report(31, `the block ${cidr} is not written canonically`);
    }
    if (Object.keys(block).length === 0) report(31, "counts nothing: it should be gone");
    if (handle.metadata.name !== handleName(handleID)) report(33, `the name should be ${handleName(handleID)}`);
  });
}

/** 30: at no instant less than there are. A handle without a row counts nothing. */
function tooLow(blocks: readonly IPAMBlock[], counted: ReadonlyMap<string, Usage>): Finding[] {
  return findings(blocks, (block, report) => {
    for (const [name, held] of usageOf(block)) {
      const count = counted.get(name)?.get(rangeOf(block.spec.cidr)) ?? 0;
      if (count < held) report(30, `holds ${held} addresses of handle ${name}, which counts ${count}`);
    }
  });
}

/** 30 and 32, at rest: not more than there are either, and no row for nothing. An empty row is already 31. */
function tooHigh(handles: readonly IPAMHandle[], usage: ReadonlyMap<string, Usage>): Finding[] {
  return findings(handles, (handle, report) => {
    const held = usage.get(handle.metadata.name);
    const counts = countsOf(handle);
    if (held === undefined && counts.size > 0) return report(32, "counts addresses, but no block holds one of it");
    for (const [cidr, count] of counts) {
      const truth = held?.get(cidr) ?? 0;
      if (count > truth) report(30, `counts ${count} addresses in ${cidr}, which holds ${truth} of it`);
    }
  });
}
