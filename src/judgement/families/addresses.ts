/** Allocated addresses against the pods, nodes and Services that should have them, and the other way round. */
import { byAddress } from "../../net/order.ts";
import { type Allocation, allocationsOf, isWindowsReserved } from "../allocations.ts";
import { family, nameOf, type Report } from "../finding.ts";
import { type Usages, usageOf } from "../in-use.ts";
import type { Inventory } from "../inventory.ts";
import { isLeaving, isNamedBy, type User, userText } from "../users.ts";
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
  look(inventory, told) {
    const report = inventory.snapshot.foreignIpam === undefined ? told : unlessOfUser(told);
    const usages = usageOf(inventory.snapshot);
    const { suspects, handlesInUse, allocated } = lookAtAllocations(inventory, usages, report);
    for (const { allocation, because } of suspects) {
      const shared = allocation.handle !== undefined && handlesInUse.has(allocation.handle);
      say(report, shared ? "UnlistedAddress" : "LeakedAddress", allocation, `${whose(allocation)}: ${because}`);
    }
    const others = Array.from(usages.listed()).filter((address) => !allocated.has(address));
    for (const address of others.sort(byAddress)) notAllocated(address, usages.usersOf(address), inventory, report);
  },
});

/** Where Calico's IPAM gives out no addresses, no block has to hold those that are in use. */
function unlessOfUser(report: Say): Say {
  return (code, object, message, evidence) => {
    if (evidence?.user === undefined) report(code, object, message, evidence);
  };
}

function lookAtAllocations({ blocks }: Inventory, usages: Usages, report: Say) {
  const suspects: Suspect[] = [];
  const handlesInUse = new Set<string>();
  /** Those that are listed and allocated. */
  const allocated = new Set<string>();
  for (const block of blocks) {
    for (const allocation of allocationsOf(block)) {
      if (allocation.releasedAt !== undefined || isWindowsReserved(allocation)) continue;
      const { address, handle } = allocation;
      const found = usages.usersOf(address);
      if (found.length > 0) {
        allocated.add(address);
        listed(allocation, found, usages, report);
      }
      if (usages.isListed(address)) {
        if (handle !== undefined) handlesInUse.add(handle);
        continue;
      }
      const usage = usages.of(allocation);
      if (usage.inUse === "no" || usage.unlisted) suspects.push({ allocation, because: usage.because });
      if (usage.inUse !== "no" && handle !== undefined) handlesInUse.add(handle);
      if (usage.inUse === "unknown" && !usage.unread) {
        say(report, "UnknownOwner", allocation, `${address} is allocated, and ${usage.because}`);
      }
    }
  }
  return { suspects, handlesInUse, allocated };
}

function listed(allocation: Allocation, found: readonly User[], usages: Usages, report: Say): void {
  const { address } = allocation;
  const staying = found.filter((user) => !isLeaving(user));
  const isRight = found.some((user) => names(allocation, user));
  if (isRight && staying.length < 2) return;
  const others = usages.allocationsAt(address).filter(({ block }) => block !== allocation.block);
  if (staying.length > 1 && !others.some((other) => isListedBefore(other, allocation))) {
    const other = staying.find((user) => !names(allocation, user)) ?? staying[1]!;
    const message = `${address} is in use by ${textOf(staying)}; ${[allocation, ...others].map(whose).join("; ")}`;
    say(report, "DuplicateAddress", allocation, message, other);
  }
  if (isRight || others.some((other) => found.some((user) => names(other, user)))) return;
  const message = `${address} is in use by ${textOf(found)}; ${whose(allocation)}`;
  say(report, "AllocatedToAnother", allocation, message, found[0]);
}

const textOf = (users: readonly User[]) => users.map(userText).join(" and ");

function names({ owner, alternate }: Allocation, user: User): boolean {
  return isNamedBy(user, owner) || (Object.keys(alternate).length > 0 && isNamedBy(user, alternate));
}

/** Of several blocks that hold an address one finding is enough: that of the smallest block, which is rarely the odd one. */
const isListedBefore = ({ block: one }: Allocation, { block: other }: Allocation) =>
  one.spec.allocations.length < other.spec.allocations.length;

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
