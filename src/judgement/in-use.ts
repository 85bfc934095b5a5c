/**
 * Whether an address is in use: yes, no or unknown. Every verdict about an address or a block asks here, so that no two
 * can disagree. What lists an address is asked first, what its attributes say last. Only "no" is ever freed.
 */
import type { IPAMBlock } from "../api/v3.ts";
import { rangeOf } from "../ipam/block.ts";
import { parseAddress } from "../net/address.ts";
import { type Allocation, addressTexts, allocationAt, isWindowsReserved } from "./allocations.ts";
import { blockIndex } from "./block-index.ts";
import { ownerUsage, type Usage } from "./owner-usage.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Answer, type User, userText, usesOf } from "./users.ts";

export type { Usage } from "./owner-usage.ts";

export interface Usages {
  /** Of an address that a block holds. */
  readonly of: (allocation: Allocation) => Usage;
  /** Of any address, allocated or not. */
  readonly at: (address: string) => Usage;
  /** Whether deleting the block would let an address be given that is in use. Asked of a block that holds none. */
  readonly ofEmpty: (block: IPAMBlock) => Usage;
  /** What blocks hold at the address, the widest block first: several where blocks overlap. */
  readonly allocationsAt: (address: string) => readonly Allocation[];
  /** Whether somebody lists the address, and surely holds it: the first question, and nearly always enough. */
  readonly isListed: (address: string) => boolean;
  /** Who lists the address and may hold it. */
  readonly usersOf: (address: string) => readonly User[];
  /** What could not be read, where somebody there may use any address. */
  readonly unread: string | undefined;
  /** Every address that is listed. */
  readonly listed: () => Iterable<string>;
}

const NOBODY: readonly User[] = [];
const NOT_LISTED: Usage = { inUse: "no", because: "nothing lists it" };
const snapshots = new WeakMap<Snapshot, Usages>();

/** Worked out once for each snapshot. */
export function usageOf(snapshot: Snapshot): Usages {
  const known = snapshots.get(snapshot) ?? build(snapshot);
  snapshots.set(snapshot, known);
  return known;
}

/** Nearly always one: lists of one would fill memory. */
type Users = Map<string, User | readonly User[]>;

function build(snapshot: Snapshot): Usages {
  const { users, unsure } = usersByAddress(snapshot);
  const hidden = hiddenUsers(snapshot);
  const index = blockIndex(snapshot.blocks.filter(({ spec }) => spec.deleted !== true));
  const allocationsAt = (address: string): readonly Allocation[] => {
    const parsed = parseAddress(address);
    const found = parsed ? index.with(parsed).flatMap((block) => allocationAt(block, parsed) ?? []) : [];
    return found.filter(({ releasedAt }) => releasedAt === undefined);
  };
  const byOwner = ownerUsage(snapshot, allocationsAt);
  const usersOf = (address: string): readonly User[] => {
    const found = users.get(address);
    if (found === undefined) return NOBODY;
    return Array.isArray(found) ? found : [found as User];
  };
  const isListed = (address: string) => users.has(address) && !unsure.has(address);
  const listedUsage = (address: string): Usage | undefined => {
    const found = users.get(address);
    if (found === undefined) return undefined;
    const names = [found].flat().map(userText).join(" and ");
    return unsure.has(address)
      ? { inUse: "unknown", because: `${names} lists it, and may not hold it any more` }
      : { inUse: "yes", because: `${names} uses it` };
  };
  const otherBlocks = ({ address, block }: Allocation) =>
    allocationsAt(address).filter((other) => other.block.metadata.name !== block.metadata.name);
  const of = (allocation: Allocation): Usage => {
    const listed = listedUsage(allocation.address);
    if (listed?.inUse === "yes") return listed;
    if (isWindowsReserved(allocation)) return { inUse: "yes", because: "a Windows host keeps it for itself" };
    const owner = worst([byOwner(allocation), listed]);
    if (owner.inUse === "yes") return owner;
    return worst([hidden, owner, ...otherBlocks(allocation).map(byOwner)]);
  };
  const at = (address: string): Usage => {
    const allocations = allocationsAt(address);
    return worst([listedUsage(address), ...(allocations.length > 0 ? allocations.map(of) : [hidden])]);
  };
  const ofEmpty = (block: IPAMBlock): Usage => {
    const textAt = addressTexts(rangeOf(block));
    const lost = Array.from(block.spec.allocations.keys(), textAt).find(
      (address) => users.has(address) && !allocationsAt(address).some((other) => other.block !== block),
    );
    if (lost === undefined) return worst([hidden]);
    const { inUse, because } = listedUsage(lost)!;
    return { inUse, because: `${lost} is not allocated, and ${because}` };
  };
  return { of, at, ofEmpty, allocationsAt, isListed, usersOf, unread: hidden?.because, listed: () => users.keys() };
}

function usersByAddress(snapshot: Snapshot): { readonly users: Users; readonly unsure: ReadonlySet<string> } {
  const users: Users = new Map();
  const unsure = new Set<string>();
  for (const { address, user, holds } of usesOf(snapshot)) {
    const known = users.get(address);
    users.set(address, known === undefined ? user : [known, user].flat());
    if (holds === "yes") unsure.delete(address);
    else if (known === undefined) unsure.add(address);
  }
  return { users, unsure };
}

/** Parts with addresses in them, and the kinds they are read from. */
const PARTS = [
  ["pods", "Pod"],
  ["nodes", "Node"],
  ["services", "Service"],
] as const;

/** Set where somebody who was not read may use an address that nobody else uses. An embedded store has no such parts. */
function hiddenUsers(snapshot: Snapshot): Usage | undefined {
  const isCluster = PARTS.some(([part]) => snapshot[part] || snapshot.unread.some((unread) => unread.part === part));
  if (!isCluster) return undefined;
  for (const [part, kind] of PARTS) {
    const { reason } = snapshot.unread.find((unread) => unread.part === part) ?? {};
    const malformed = snapshot.malformed.find((object) => object.kind === kind);
    const because = malformed ? `${kind} "${malformed.name}" cannot be read: ${malformed.reason}` : reason;
    if (snapshot[part] !== undefined && malformed === undefined) continue;
    return { inUse: "unknown", because: because ?? `${part} were not read`, unread: true };
  }
  return undefined;
}

const ORDER: readonly Answer[] = ["yes", "unknown", "no"];

/** Yes outranks unknown, and unknown outranks no. */
function worst(usages: readonly (Usage | undefined)[]): Usage {
  const known = usages.filter((usage) => usage !== undefined);
  for (const answer of ORDER) {
    const found = known.find(({ inUse }) => inUse === answer);
    if (found) return found;
  }
  return NOT_LISTED;
}
