/** What the arithmetic relies on, and a stored block may not keep. It is named by field, so that a person can mend it. */
import { blockName } from "../api/names.ts";
import type { IPAMBlock, IPAMBlockSpec } from "../api/v3.ts";
import { formatCidr, parseCidr, size } from "../net/cidr.ts";
import { IpamError } from "./errors.ts";

/** What was found wrong with each block. Nobody changes one, and a cache shows the same ones in every list. */
const verdicts = new WeakMap<IPAMBlock, { readonly problem: string | undefined }>();

/** The first thing that is wrong with a block; undefined for a sound one. */
export function problemOf(block: IPAMBlock): string | undefined {
  const known = verdicts.get(block);
  if (known) return known.problem;
  const problem = firstProblem(block);
  verdicts.set(block, { problem });
  return problem;
}

function firstProblem(block: IPAMBlock): string | undefined {
  return rangeProblem(block) ?? allocationProblem(block.spec) ?? queueProblem(block.spec) ?? timeProblem(block.spec);
}

/** @throws IpamError MalformedBlock, naming block and field */
export function checkBlock(block: IPAMBlock): void {
  const problem = problemOf(block);
  if (problem === undefined) return;
  throw new IpamError("MalformedBlock", `IPAMBlock "${block.metadata.name}" is malformed: ${problem}`);
}

function rangeProblem({ metadata, spec }: IPAMBlock): string | undefined {
  const range = parseCidr(spec.cidr);
  if (range === undefined) return `spec.cidr "${spec.cidr}" is not a CIDR`;
  const name = blockName(formatCidr(range));
  if (name !== metadata.name) return `spec.cidr is ${spec.cidr}, whose block would be named "${name}"`;
  const entries = BigInt(spec.allocations.length);
  return entries === size(range) ? undefined : `spec.allocations has ${entries} entries, not ${size(range)}`;
}

function allocationProblem({ allocations, attributes }: IPAMBlockSpec): string | undefined {
  const ordinal = allocations.findIndex((index) => index !== null && !attributes[index]);
  if (ordinal < 0) return undefined;
  const last = attributes.length - 1;
  return `spec.allocations[${ordinal}] points at attribute ${allocations[ordinal]}; the last one is ${last}`;
}

function queueProblem({ allocations, unallocated }: IPAMBlockSpec): string | undefined {
  const free = new Set(unallocated);
  if (free.size !== unallocated.length) return "spec.unallocated names an ordinal twice";
  const beyond = unallocated.find((ordinal) => !(ordinal in allocations));
  if (beyond !== undefined) return `spec.unallocated names ordinal ${beyond}, which is beyond the block`;
  const ordinal = allocations.findIndex((index, at) => (index === null) !== free.has(at));
  if (ordinal < 0) return undefined;
  const verdict = free.has(ordinal)
    ? "is in spec.unallocated and allocated too"
    : "is neither allocated nor in spec.unallocated";
  return `ordinal ${ordinal} ${verdict}`;
}

function timeProblem({ attributes }: IPAMBlockSpec): string | undefined {
  const isNoTime = (text: string | undefined) => text !== undefined && Number.isNaN(Date.parse(text));
  const index = attributes.findIndex(({ releasedAt }) => isNoTime(releasedAt));
  return index < 0 ? undefined : `spec.attributes[${index}].releasedAt "${attributes[index]!.releasedAt}" is no time`;
}
