/** Allocated addresses against the pods, nodes and Services that should have them, and the other way round. */
import { type Allocation, allocationsOf, isWindowsReserved } from "../allocations.ts";
import { family, nameOf, type Report } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { ownerLookup } from "../owner-lookup.ts";
import { isLeaving, isNamedBy, type User, userText, usesOf } from "../uses.ts";
import { type AddressCode, addressCodes } from "./address-codes.ts";
import { notAllocated } from "./not-allocated.ts";

type Say = Report<AddressCode>;
interface Suspect {
  readonly allocation: Allocation;
  readonly because: string;
}

export const addresses = family<AddressCode>({
  title: "Addresses and their owners",
  codes: addressCodes,
  look(inventory, report) {
    const users = usersByAddress(inventory);
    const { suspects, handlesInUse } = lookAtAllocations(inventory, users, report);
    for (const { allocation, because } of suspects) {
      const shared = allocation.handle !== undefined && handlesInUse.has(allocation.handle);
      say(report, shared ? "UnlistedAddress" : "LeakedAddress", allocation, `${whose(allocation)}: ${because}`);
    }
    for (const [address, found] of users) notAllocated(address, [found].flat(), inventory, report);
  },
});

/** Nearly always one: lists of one would fill memory. */
type Users = Map<string, User | User[]>;

function usersByAddress({ snapshot }: Inventory): Users {
  const users: Users = new Map();
  for (const { address, user } of usesOf(snapshot)) {
    const known = users.get(address);
    users.set(address, known === undefined ? user : [known, user].flat());
  }
  return users;
}

/** Takes those who have their address from `users`: who is left has one that is not allocated. */
function lookAtAllocations({ blocks, snapshot }: Inventory, users: Users, report: Say) {
  const verdictOn = ownerLookup(snapshot);
  const suspects: Suspect[] = [];
  const handlesInUse = new Set<string>();
  for (const block of blocks) {
    for (const allocation of allocationsOf(block)) {
      if (allocation.releasedAt !== undefined || isWindowsReserved(allocation)) continue;
      const found = users.get(allocation.address);
      users.delete(allocation.address);
      if (found) inUse(allocation, [found].flat(), report);
      const verdict = found ? ({ state: "there" } as const) : verdictOn(allocation);
      if (verdict.state === "gone") suspects.push({ allocation, because: verdict.because });
      else if (allocation.handle !== undefined) handlesInUse.add(allocation.handle);
      if (verdict.state === "unknown" && verdict.because) {
        say(report, "UnknownOwner", allocation, `${allocation.address} is allocated, and ${verdict.because}`);
      }
    }
  }
  return { suspects, handlesInUse };
}

function inUse(allocation: Allocation, found: readonly User[], report: Say): void {
  const { address, owner, alternate } = allocation;
  const staying = found.filter((user) => !isLeaving(user));
  const named = (user: User) =>
    isNamedBy(user, owner) || (Object.keys(alternate).length > 0 && isNamedBy(user, alternate));
  if (staying.length > 1) {
    const names = staying.map(userText).join(" and ");
    const other = staying.find((user) => !named(user)) ?? staying[1]!;
    say(report, "DuplicateAddress", allocation, `${address} is in use by ${names}; ${whose(allocation)}`, other);
  }
  if (found.some(named)) return;
  const names = found.map(userText).join(" and ");
  say(report, "AllocatedToAnother", allocation, `${address} is in use by ${names}; ${whose(allocation)}`, found[0]);
}

function say(report: Say, code: AddressCode, allocation: Allocation, message: string, other?: User): void {
  const { address, block, handle, sequenceNumber, node } = allocation;
  const user = other && userText(other);
  report(code, nameOf(block), message, { address, handle, sequenceNumber, node, user });
}

/** `10.0.0.5 is allocated to pod shop/web-2 (handle k8s-pod-network.ab)`. */
function whose({ address, owner, handle = "none" }: Allocation): string {
  const { namespace = "", pod, service, type } = owner;
  const name = owner["vmi-name"] ?? pod ?? service;
  const what = name === undefined ? (type ?? "nobody it names") : `${pod ? "pod" : "Service"} ${namespace}/${name}`;
  return `${address} is allocated to ${what} (handle ${handle})`;
}
