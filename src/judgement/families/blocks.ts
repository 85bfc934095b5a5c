/** What one block must be by itself: it is of its range, and its owner, numbers and times are possible. */
import { blockName } from "../../api/names.ts";
import type { AllocationAttribute, IPAMBlock } from "../../api/v3.ts";
import { rangeOf } from "../../ipam/block.ts";
import { formatCidr, size } from "../../net/cidr.ts";
import { addressTexts } from "../allocations.ts";
import { family, nameOf, type Report } from "../finding.ts";
import { edit, repair } from "../mend.ts";
import { isOwner } from "../owners.ts";

type Code = keyof typeof codes;
type Say = (code: Code, message: string, address?: string) => void;

/** How far the clocks of those who release may be ahead of ours. */
const SKEW_MS = 60_000;

const codes = {
  MalformedBlock: {
    severity: "critical",
    title: "A block is not of its range",
    means:
      "The block's name, its range and the number of its allocations must fit together. Where they do not, nobody can " +
      "say which address an entry stands for: nothing is allocated from the block.",
    mend: edit,
  },
  BadSequenceNumber: {
    severity: "warning",
    title: "A sequence number cannot be right",
    means:
      "Each address remembers the block's number at its allocation, so that a late release cannot free it from its next " +
      "owner. A number of a free address, or one that the block has not reached, breaks that protection.",
    mend: repair,
  },
  ReleaseInFuture: {
    severity: "warning",
    title: "An address was released in the future",
    means:
      "The clock of a node is ahead: the address cools down for longer than it should. Set the node's clock right.",
    mend: repair,
  },
  MalformedCooldown: {
    severity: "warning",
    title: "An address that cools down still says whose it is, or was released at no time",
    means: "Such an entry is bare: it holds the time of the release and nothing else. This one may cool down for ever.",
    mend: repair,
  },
  MalformedOwner: {
    severity: "warning",
    title: "A block's owner cannot be read",
    means:
      "An owner is `host:<node>` or `virtual:<name>`; there is a time of the claim exactly where there is an owner.",
    mend: edit,
  },
  MalformedHandleText: {
    severity: "warning",
    title: "A handle in a block has control characters",
    means:
      "An old migration took two lines of a file for one id. Releasing by handle does not find the address; releasing by " +
      "address does.",
    mend: repair,
  },
} as const;

export const blocks = family<Code>({
  title: "Blocks",
  codes,
  look({ blocks: stored }, report, now) {
    for (const block of stored) lookAt(block, report, now);
  },
});

function lookAt(block: IPAMBlock, report: Report<Code>, now: Date): void {
  const object = nameOf(block);
  const say: Say = (code, message, address) => report(code, object, message, { address });
  owner(block, say);
  for (const attribute of block.spec.attributes) {
    cooldown(attribute, say, now);
    handleText(attribute, say);
  }
  if (!isOfItsRange(block, say)) return;
  const textAt = addressTexts(rangeOf(block));
  sequenceNumbers(block, textAt, say);
}

function isOfItsRange(block: IPAMBlock, say: Say): boolean {
  const { cidr, allocations } = block.spec;
  const range = rangeOf(block);
  const [canonical, name] = [formatCidr(range), blockName(cidr)];
  if (canonical !== cidr) say("MalformedBlock", `spec.cidr is ${cidr}, not the canonical ${canonical}`);
  if (block.metadata.name !== name) say("MalformedBlock", `a block of ${cidr} would be named "${name}"`);
  const wrongSize = BigInt(allocations.length) !== size(range);
  if (wrongSize) say("MalformedBlock", `spec.allocations has ${allocations.length} entries, not ${size(range)}`);
  return !wrongSize;
}

/** A block as it was created has generation 1, where the store counts generations, and may be level with its ordinals. */
function sequenceNumbers({ spec, metadata }: IPAMBlock, textAt: (ordinal: number) => string, say: Say): void {
  const last = BigInt(spec.sequenceNumber ?? 0);
  const written = (metadata.generation ?? 1) > 1;
  for (const [key, value] of Object.entries(spec.sequenceNumberForAllocation ?? {})) {
    const number = BigInt(value);
    const ordinal = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
    const index = spec.allocations[ordinal];
    if (index === undefined) say("BadSequenceNumber", `number ${number} is of "${key}", which is no ordinal`);
    else if (index === null) say("BadSequenceNumber", `number ${number} is of a free address`, textAt(ordinal));
    else if (number > last || (written && number === last)) {
      say("BadSequenceNumber", `number ${number} is not below the block's ${last}`, textAt(ordinal));
    }
  }
}

function cooldown(
  { releasedAt, handle_id, secondary, alternateOwnerAttrs }: AllocationAttribute,
  say: Say,
  now: Date,
): void {
  if (releasedAt === undefined) return;
  const time = Date.parse(releasedAt);
  const owned =
    handle_id !== undefined || [secondary, alternateOwnerAttrs].some((map) => Object.keys(map ?? {}).length > 0);
  if (Number.isNaN(time)) say("MalformedCooldown", `releasedAt "${releasedAt}" is no time`);
  else if (owned) say("MalformedCooldown", `the entry released at ${releasedAt} has a handle or attributes`);
  else if (isLateRelease({ releasedAt }, now))
    say("ReleaseInFuture", `released at ${releasedAt}, and it is ${now.toISOString()}`);
}

/** Whether an entry was released later than clocks can differ. */
export function isLateRelease({ releasedAt = "" }: AllocationAttribute, now: Date): boolean {
  return Date.parse(releasedAt) > now.getTime() + SKEW_MS;
}

function handleText({ handle_id: handle = "" }: AllocationAttribute, say: Say): void {
  if (/\p{Cc}/u.test(handle)) say("MalformedHandleText", `an entry has the handle ${JSON.stringify(handle)}`);
}

function owner({ spec }: IPAMBlock, say: Say): void {
  const { affinity, affinityClaimTime } = spec;
  if (affinity !== undefined && !isOwner(affinity)) {
    say("MalformedOwner", `spec.affinity "${affinity}" is neither host:<node> nor virtual:<name>`);
  }
  if (affinity === undefined && affinityClaimTime !== undefined) {
    say("MalformedOwner", `nobody owns the block, and it was claimed at ${affinityClaimTime}`);
  }
}
