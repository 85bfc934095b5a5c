/** Invariants 1 to 7 and 9: what one stored block must be, also one that is marked as deleted. */
import { blockName } from "../../src/api/names.ts";
import type { AllocationAttribute, IPAMBlock } from "../../src/api/v3.ts";
import { canonicalCidr, parseCidr, size } from "../../src/net/cidr.ts";
import { type CheckOptions, type Finding, findings, numberOf, type Report } from "./model.ts";

export function checkBlocks(blocks: readonly IPAMBlock[], options: CheckOptions): Finding[] {
  return findings(blocks, (block, report) => {
    shape(block, report);
    allocations(block, report);
    queue(block, report);
    sequenceNumbers(block, report);
    cooling(block, options, report);
    owner(block, report);
  });
}

/** 1 */
function shape({ metadata, spec }: IPAMBlock, report: Report): void {
  const range = parseCidr(spec.cidr);
  if (range === undefined) {
    report(1, `cidr ${spec.cidr} is no range`);
    return;
  }
  if (canonicalCidr(spec.cidr) !== spec.cidr) report(1, `cidr ${spec.cidr} is not canonical and masked`);
  if (BigInt(spec.allocations.length) !== size(range)) {
    report(1, `${spec.allocations.length} allocations for ${size(range)} addresses`);
  }
  if (metadata.name !== blockName(spec.cidr)) report(1, `the name should be ${blockName(spec.cidr)}`);
}

/** 2, 3 */
function allocations({ spec }: IPAMBlock, report: Report): void {
  const used = new Set<number | null>(spec.allocations);
  for (const [ordinal, index] of spec.allocations.entries()) {
    if (index !== null && !(Number.isInteger(index) && index in spec.attributes)) {
      report(2, `ordinal ${ordinal} points to attribute ${index} of ${spec.attributes.length}`);
    }
  }
  for (const index of spec.attributes.keys()) {
    if (!used.has(index)) report(3, `no ordinal points to attribute ${index}`);
  }
}

/** 4 */
function queue({ spec }: IPAMBlock, report: Report): void {
  const queued = new Set(spec.unallocated);
  if (queued.size !== spec.unallocated.length) report(4, `unallocated names an ordinal twice: ${spec.unallocated}`);
  for (const ordinal of queued) {
    if (!(ordinal in spec.allocations)) report(4, `ordinal ${ordinal} in unallocated is not in the block`);
  }
  for (const [ordinal, index] of spec.allocations.entries()) {
    if (queued.has(ordinal) !== (index === null)) {
      report(4, `ordinal ${ordinal} is ${index === null ? "free but not queued" : "allocated and queued"}`);
    }
  }
}

/** 5, 6. A block as created has generation 1, where the store counts generations. */
function sequenceNumbers({ metadata, spec }: IPAMBlock, report: Report): void {
  const { sequenceNumberForAllocation = {} } = spec;
  const sequenceNumber = numberOf(spec.sequenceNumber);
  const written = (metadata.generation ?? 1) > 1;
  for (const [ordinal, stored] of Object.entries(sequenceNumberForAllocation)) {
    const number = numberOf(stored);
    const isOrdinal = /^(0|[1-9]\d*)$/.test(ordinal) && Number(ordinal) in spec.allocations;
    if (!isOrdinal) report(5, `sequence number for "${ordinal}", which is no ordinal`);
    else if (spec.allocations[Number(ordinal)] === null)
      report(5, `sequence number for ordinal ${ordinal}, a free one`);
    if (number > sequenceNumber || (written && number === sequenceNumber)) {
      report(6, `ordinal ${ordinal} has sequence number ${number}, the block only ${sequenceNumber}`);
    }
  }
}

/** 7 */
function cooling({ spec }: IPAMBlock, { now, clockSkewSeconds = 0 }: CheckOptions, report: Report): void {
  const latest = now.getTime() + clockSkewSeconds * 1000;
  for (const [index, attribute] of spec.attributes.entries()) {
    if (attribute.releasedAt === undefined) continue;
    if (!isBare(attribute)) report(7, `attribute ${index} is released and still says whose it was`);
    const released = Date.parse(attribute.releasedAt);
    if (!(released <= latest)) report(7, `attribute ${index} is released at ${attribute.releasedAt}, after now`);
  }
}

const isEmpty = (map: Readonly<Record<string, string>> = {}) => Object.keys(map).length === 0;
const isBare = ({ handle_id, secondary, alternateOwnerAttrs }: AllocationAttribute) =>
  handle_id === undefined && isEmpty(secondary) && isEmpty(alternateOwnerAttrs);

/** 9 */
function owner({ spec }: IPAMBlock, report: Report): void {
  if (spec.affinity === undefined) {
    if (spec.affinityClaimTime !== undefined) report(9, "nobody's block has a claim time");
  } else if (!/^(host|virtual):./.test(spec.affinity)) {
    report(9, `affinity ${JSON.stringify(spec.affinity)} is neither host:<name> nor virtual:<name>`);
  }
}
