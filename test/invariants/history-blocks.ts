/** Invariants 8, 11, 12, 15, 19 and 26: what one write may make of a block, and of the row that owns it. */
import type { IPAMBlock, IPAMBlockSpec } from "../../src/api/v3.ts";
import { canonicalCidr } from "../../src/net/cidr.ts";
import {
  entryAt,
  type History,
  handleText,
  isHeld,
  isMarked,
  type Operation,
  ordinalOf,
  ordinalsOf,
  type Write,
} from "./log.ts";
import { type Finding, handleAt, isWindowsReserved, numberOf } from "./model.ts";

type BlockWrite = Write<"IPAMBlock">;

export function checkBlockWrites(history: History): Finding[] {
  const blockWrites = history.writesOf("IPAMBlock").flatMap((write) => {
    const changed = write.before && write.after && !isMarked(write.after) ? consecutive(history, write) : [];
    return [
      ...numbering(write),
      ...changed,
      ...staleReleases(write),
      ...deletion(history, write),
      ...overMax(history, write),
    ].map(([invariant, message]): Finding => ({ invariant, object: `IPAMBlock ${write.name}`, message }));
  });
  return [...blockWrites, ...rowsGoneFirst(history)];
}

type Told = readonly [invariant: number, message: string];

function consecutive(history: History, write: BlockWrite): Told[] {
  const [before, after] = [write.before!.spec, write.after!.spec];
  return [...queueDiscipline(before, after), ...cooldown(history, write)];
}

/** 8. Holds while no clock steps back. */
function numbering({ before, after, predecessor }: BlockWrite): Told[] {
  if (after === undefined || predecessor === undefined) return [];
  const [old, now] = [numberOf(predecessor.spec.sequenceNumber), numberOf(after.spec.sequenceNumber)];
  if (before && isMarked(after)) return old === now ? [] : [[8, `marked as deleted at ${now}, was ${old}`]];
  return now > old ? [] : [[8, `${before ? "written" : "created again"} at ${now}, was ${old}`]];
}

/** 11. What a write frees was cooling down, collected as it was loaded, or is freed by the write's own release. */
function queueDiscipline(before: IPAMBlockSpec, after: IPAMBlockSpec): Told[] {
  const kept = before.unallocated.filter((ordinal) => after.unallocated.includes(ordinal));
  const freed = after.unallocated.filter((ordinal) => !before.unallocated.includes(ordinal)).sort((a, b) => a - b);
  const collected = freed.filter((ordinal) => !isHeld(before, ordinal));
  const released = freed.filter((ordinal) => isHeld(before, ordinal));
  const right = [...kept, ...collected, ...released];
  return `${right}` === `${after.unallocated}` ? [] : [[11, `the queue became ${after.unallocated}, not ${right}`]];
}

/** 12: an address is free again only after it has cooled down, and while there is a cooldown none is free at once. */
function cooldown(history: History, write: BlockWrite): Told[] {
  const [before, after] = [write.before!.spec, write.after!.spec];
  const seconds = shortestCooldown(history, write);
  const when = write.at.toISOString();
  return ordinalsOf(before).flatMap((ordinal): Told[] => {
    const isCooling = (spec: IPAMBlockSpec) => entryAt(spec, ordinal)?.releasedAt !== undefined;
    if (isHeld(before, ordinal) && after.allocations[ordinal] === null && seconds > 0)
      return [[12, `ordinal ${ordinal} was freed at ${when} without its cooldown of ${seconds} s`]];
    if (!isCooling(before) || isCooling(after) || isCold(before, ordinal, write.at, seconds)) return [];
    return [[12, `ordinal ${ordinal} left its cooldown of ${seconds} s at ${when}, too early`]];
  });
}

/** The shortest of those in force since the writer began. */
function shortestCooldown(history: History, { operation, position }: BlockWrite): number {
  if (operation?.ipCooldownSeconds !== undefined) return operation.ipCooldownSeconds;
  const inForce = history.configurations(operation?.begin ?? position, position);
  return Math.min(...inForce.map((spec) => spec.ipCooldownSeconds ?? 0));
}

/** 15: by a write of the block, or by its deletion. */
function staleReleases({ before, after, operation }: BlockWrite): Told[] {
  if (before === undefined || isMarked(before)) return [];
  const { spec } = before;
  // Of an address named twice in one call the last entry counts.
  const releases = new Map((operation?.releases ?? []).map(({ address, sequenceNumber }) => [address, sequenceNumber]));
  return [...releases].flatMap(([address, sequenceNumber]): Told[] => {
    const ordinal = ordinalOf(spec, address);
    if (sequenceNumber === undefined || !isHeld(spec, ordinal) || isHeld(after?.spec, ordinal)) return [];
    const stored = numberOf(spec.sequenceNumberForAllocation?.[ordinal]);
    return stored === sequenceNumber
      ? []
      : [[15, `${address} was released at ${sequenceNumber}, stored was ${stored}`]];
  });
}

const isGone = (after: object | undefined) => after === undefined || isMarked(after as IPAMBlock);

/** 26: a block goes only when its deletion leaves nothing behind, but for what Windows keeps. */
function deletion(history: History, write: BlockWrite): Told[] {
  if (write.before === undefined || isMarked(write.before) || !isGone(write.after)) return [];
  const { spec } = write.before;
  const seconds = shortestCooldown(history, write);
  const holding = ordinalsOf(spec).filter(
    (ordinal) =>
      spec.allocations[ordinal] !== null &&
      !isWindowsReserved(handleAt(spec, ordinal)) &&
      !isCold(spec, ordinal, write.at, seconds) &&
      !(seconds <= 0 && isReleasedBy(write.operation, spec, ordinal)),
  );
  return holding.length === 0 ? [] : [[26, `was deleted with ordinals ${holding} allocated`]];
}

function isCold(spec: IPAMBlockSpec, ordinal: number, at: Date, seconds: number): boolean {
  const releasedAt = entryAt(spec, ordinal)?.releasedAt;
  return releasedAt !== undefined && at.getTime() - Date.parse(releasedAt) >= seconds * 1000;
}

/** Without a cooldown, the release of a block's last address is its deletion, when nobody owns it. */
function isReleasedBy(operation: Operation | undefined, spec: IPAMBlockSpec, ordinal: number): boolean {
  if (operation?.method === "releaseByHandle")
    return handleText(operation.handleID) === handleText(handleAt(spec, ordinal));
  return (operation?.releases ?? []).some(({ address }) => ordinalOf(spec, address) === ordinal);
}

/**
 * 26: a row goes only after the block is no longer its host's. A pending one stands for nothing yet: who finds no block
 * to it may remove it (number 20 of the differences), and a claim that was on its way writes it anew.
 */
function rowsGoneFirst(history: History): Finding[] {
  return history.writesOf("BlockAffinity").flatMap(({ before, after, name, position }) => {
    if (before === undefined || isMarked(before) || !isGone(after)) return [];
    const { cidr, node, type, state } = before.spec;
    if (state === "pending") return [];
    const block = history
      .stored("IPAMBlock", position)
      .find(({ spec }) => canonicalCidr(spec.cidr) === canonicalCidr(cidr));
    if (block?.spec.affinity !== `${type || "host"}:${node}`) return [];
    return [{ invariant: 26, object: `BlockAffinity ${name}`, message: `is gone while ${cidr} is still ${node}'s` }];
  });
}

/** 19: for a handle all of whose callers set a maximum. */
function overMax(history: History, { after, operation, position }: BlockWrite): Told[] {
  const handleID = handleText(operation?.handleID);
  const maxima = history.operations
    .filter((call) => handleText(call.handleID) === handleID && ["autoAssign", "assignIP"].includes(call.method))
    .map((call) => call.maxAllocToHandlePerIPVersion ?? 0);
  if (handleID === "" || after === undefined || maxima.length === 0 || maxima.includes(0)) return [];
  const blocks = history
    .stored("IPAMBlock", position)
    .filter(({ spec }) => spec.cidr.includes(":") === after.spec.cidr.includes(":"));
  const live = blocks.flatMap(({ spec }) =>
    ordinalsOf(spec).filter((ordinal) => handleText(handleAt(spec, ordinal)) === handleID),
  );
  const max = Math.max(...maxima);
  return live.length <= max
    ? []
    : [[19, `handle ${handleID} now has ${live.length} addresses, at most ${max} were allowed`]];
}
