/**
 * The invariants about what happens in between (8, 11 to 20, 26), asked of a recorded history. Pure. The log may hold
 * calls that overlap and calls that died; writes whose caller is unknown are asked only what concerns the objects.
 */
import { isDeepStrictEqual } from "node:util";
import type { IPAMBlock, IPAMBlockSpec } from "../../src/api/v3.ts";
import { type Cidr, contains, parseCidr } from "../../src/net/cidr.ts";
import { covered, rangeOf, reservedRanges } from "./address-ranges.ts";
import { checkBlockWrites } from "./history-blocks.ts";
import {
  entryAt,
  History,
  handleText,
  hostRange,
  isHeld,
  isMarked,
  type LogEntry,
  type Operation,
  ordinalOf,
  ordinalsOf,
} from "./log.ts";
import { type Finding, handleAt, isWindowsReserved } from "./model.ts";

export type { Call, LogEntry, Outcome, VersionEntry } from "./log.ts";

/** What no history may show, by the invariant's number; empty where all is sound. */
export function checkHistory(log: readonly LogEntry[]): Finding[] {
  const history = new History(log);
  const assigned = history.operations.filter(({ outcome }) => outcome?.ips !== undefined);
  return [
    ...checkBlockWrites(history),
    ...handedOutTwice(history, assigned),
    ...assigned.flatMap((operation) => operation.outcome!.ips!.flatMap((ip) => handedOut(history, operation, ip))),
    ...borrowed(history),
    ...readersThatWrite(history),
  ];
}

const finding = (invariant: number, { name }: Operation, message: string): Finding => ({
  invariant,
  object: name,
  message,
});
const addressOf = (ip: string) => ip.split("/", 1)[0]!;

/** 13: between two holders of an address there must be a release that may have freed it, each counting once. */
function handedOutTwice(history: History, assigned: readonly Operation[]): Finding[] {
  const found: Finding[] = [];
  const holders = new Map<string, Operation>();
  const spent = new Set<string>();
  for (const operation of assigned.toSorted((a, b) => a.end - b.end)) {
    for (const address of operation.outcome!.ips!.map(addressOf)) {
      const holder = holders.get(address);
      if (holder !== undefined && isRepeat(holder, operation)) continue;
      holders.set(address, operation);
      if (holder === undefined) continue;
      const release = history.operations.find(
        (other) =>
          mayFree(other, address, holder) &&
          !spent.has(`${other.name} ${address}`) &&
          other.begin < operation.end &&
          other.end > holder.begin,
      );
      if (release) spent.add(`${release.name} ${address}`);
      else found.push(finding(13, operation, `${address} is still held by ${holder.name}`));
    }
  }
  return found;
}

/** With a maximum, the same handle is given what it has. */
const isRepeat = (holder: Operation, { handleID, maxAllocToHandlePerIPVersion = 0 }: Operation) =>
  maxAllocToHandlePerIPVersion > 0 && handleText(handleID) === handleText(holder.handleID);

function mayFree({ method, releases = [], handleID, outcome }: Operation, address: string, holder: Operation): boolean {
  if (method === "releaseByHandle") return handleText(handleID) === handleText(holder.handleID);
  return releases.some((release) => release.address === address) && !outcome?.unallocated?.includes(address);
}

/** 14, 17 and 18 for one address of a successful call. */
function handedOut(history: History, operation: Operation, ip: string): Finding[] {
  const address = addressOf(ip);
  const { atBegin, written } = history.blockDuring(address, operation);
  const isOurs = (block: IPAMBlock | undefined) => block !== undefined && isHeldBy(block.spec, address, operation);
  const isNew = !isOurs(atBegin);
  const visible = (isNew ? written : [atBegin!, ...written]).filter(isOurs);
  if (visible.length === 0) return [finding(14, operation, `${address} is in no block under the caller's handle`)];
  const { spec, metadata } = visible[0]!;
  // A block that was deleted meanwhile and made again keeps back what its new maker said.
  const same = [atBegin, ...written].filter((block) => block?.metadata.uid === metadata.uid);
  return [
    ...prefixOf(operation, ip, spec),
    ...(isNew ? attributesOf(history, operation, address, visible) : []),
    ...(isNew && operation.method === "autoAssign" ? forbidden(history, operation, address, same) : []),
  ];
}

function isHeldBy(spec: IPAMBlockSpec, address: string, { handleID }: Operation): boolean {
  const ordinal = ordinalOf(spec, address);
  return isHeld(spec, ordinal) && handleText(handleAt(spec, ordinal)) === handleText(handleID);
}

/** 18 */
function prefixOf(operation: Operation, ip: string, { cidr }: IPAMBlockSpec): Finding[] {
  const { prefix } = parseCidr(cidr)!;
  return !ip.includes("/") || ip.endsWith(`/${prefix}`)
    ? []
    : [finding(18, operation, `${ip} was returned, the block is ${cidr}`)];
}

/** 14: the caller's attributes, in one of the states with its handle. Under a maximum a call that overlaps may have been first. */
function attributesOf(
  history: History,
  operation: Operation,
  address: string,
  states: readonly IPAMBlock[],
): Finding[] {
  const { begin, end } = operation;
  const sharers = history.operations.filter(
    (other) => isRepeat(other, operation) && other.begin < end && other.end > begin,
  );
  const wanted = [operation, ...sharers].map(({ attrs = {} }) => ({ ...attrs }));
  const stored = states.map(({ spec }) => entryAt(spec, ordinalOf(spec, address))?.secondary ?? {});
  if (stored.some((attributes) => wanted.some((attrs) => isDeepStrictEqual({ ...attributes }, attrs)))) return [];
  return [finding(14, operation, `${address} has ${JSON.stringify(stored[0])}, not ${JSON.stringify(wanted[0])}`)];
}

/** Whether one write took it from Windows and gave it away. Where somebody released it in between, it was free to be given. */
function isTakenFromWindows(states: readonly (IPAMBlock | undefined)[], address: string): boolean {
  const specs = states.flatMap((block) => (block ? [block.spec] : []));
  return specs.some((spec, at) => {
    const [ordinal, next] = [ordinalOf(spec, address), specs[at + 1]];
    if (!next || !isWindowsReserved(handleAt(spec, ordinal))) return false;
    return isHeld(next, ordinal) && !isWindowsReserved(handleAt(next, ordinal));
  });
}

/** 17: what an automatic request must not be given anew. */
function forbidden(
  history: History,
  operation: Operation,
  address: string,
  states: readonly (IPAMBlock | undefined)[],
): Finding[] {
  const range = hostRange(address);
  const reservations = history.stored("IPReservation", operation.begin);
  const reserved = reservations.flatMap(({ spec }) => reservedRanges(spec.reservedCIDRs ?? []));
  const reasons = [
    covered(rangeOf(range), reserved) > 0n && "is reserved",
    isTakenFromWindows(states, address) && "is kept by Windows",
    !poolsFor(history, operation).some((pool) => contains(pool, range)) && "is in no pool that may be used",
  ];
  return reasons.filter((reason) => reason !== false).map((reason) => finding(17, operation, `${address} ${reason}`));
}

function poolsFor(history: History, { begin, pools = [] }: Operation): Cidr[] {
  const enabled = history
    .stored("IPPool", begin)
    .filter(({ spec }) => !spec.disabled)
    .map(({ spec }) => spec.cidr);
  return (pools.length > 0 ? pools : enabled).flatMap((cidr) => parseCidr(cidr) ?? []);
}

/** 16: where affinity was strict from begin to write, no new address out of a block that is not the host's. */
function borrowed(history: History): Finding[] {
  return history.writesOf("IPAMBlock").flatMap(({ before, after, operation, position, name }) => {
    if (!operation || !after || !["autoAssign", "assignIP"].includes(operation.method)) return [];
    const owner = `${operation.intendedUse === "LoadBalancer" ? "virtual" : "host"}:${operation.hostname}`;
    const isStrict = history.configurations(operation.begin, position).every(({ strictAffinity }) => strictAffinity);
    if (!isStrict || after.spec.affinity === owner) return [];
    const taken = ordinalsOf(after.spec).filter(
      (ordinal) => isHeld(after.spec, ordinal) && !isHeld(before?.spec, ordinal),
    );
    return taken.map((ordinal) =>
      finding(16, operation, `took ordinal ${ordinal} of ${name}, which is ${after.spec.affinity ?? "nobody"}'s`),
    );
  });
}

const READERS = ["getIPAMConfig", "getUtilization", "ipsByHandle", "getAssignmentAttributes"];

/** 20: a reader writes nothing, unless it meets a deletion and finishes it. */
function readersThatWrite({ writes }: History): Finding[] {
  return writes.flatMap(({ operation, kind, name, before, after }) => {
    const finishes = before !== undefined && isMarked(before) && after === undefined;
    if (!operation || !READERS.includes(operation.method) || finishes) return [];
    return [finding(20, operation, `wrote ${kind} ${name}`)];
  });
}
