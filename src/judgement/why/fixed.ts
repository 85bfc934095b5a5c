/** Addresses that a pod's annotation asks for: each is given as it is, or the pod gets none. */
import { disabledBecause, poolFor } from "../../ipam/pools.ts";
import { formatAddress, parseAddress } from "../../net/address.ts";
import { type Allocation, allocationAt } from "../allocations.ts";
import type { PodFacts } from "../facts.ts";
import { usageOf } from "../in-use.ts";
import { freeAt, type Inventory } from "../inventory.ts";
import { ownerName } from "../owners.ts";
import { quoted } from "../shell.ts";
import { podName } from "../users.ts";
import type { Cause } from "./codes.ts";

/** One cause for each address that cannot be given; reservations, selectors and limits do not count. */
export function fixedCauses(inventory: Inventory, pod: PodFacts): Cause[] {
  return (pod.askedAddresses ?? []).flatMap((text) => {
    const because = refusal(inventory, pod, text);
    if (because === undefined) return [];
    const message = `its annotation asks for ${text}, which ${because}`;
    return [{ code: "AddressTaken", message, command: `ipamctl show --ip ${quoted(text)}` }];
  });
}

function refusal(inventory: Inventory, pod: PodFacts, text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return "is no address";
  const pool = poolFor(inventory.pools, address);
  if (pool === undefined) return "is in no pool";
  const closed = disabledBecause(pool);
  if (closed !== undefined) return `is in pool "${pool.name}", which ${closed}`;
  const held = inventory.index.with(address).flatMap((block) => allocationAt(block, address) ?? []);
  const allocated = held.find(({ releasedAt }) => releasedAt === undefined);
  if (allocated !== undefined) return holder(allocated, pod);
  const { inUse, because } = usageOf(inventory.snapshot).at(formatAddress(address));
  if (inUse !== "no") return inUse === "yes" ? `is in use: ${because}` : `may be in use: ${because}`;
  const [cooling] = held;
  return cooling && `cools down until ${freeAt(inventory, cooling.releasedAt!)}`;
}

/** A sandbox of its own that is gone holds the address just as another pod would: the plugin gives it to no other handle. */
function holder({ owner, handle = "none" }: Allocation, pod: PodFacts): string {
  const { type = "somebody", owner: name = "" } = ownerName(owner);
  return name === podName(pod)
    ? `is held by an earlier sandbox of the pod itself (handle ${handle}): release it once that sandbox is gone`
    : `is allocated to ${type} ${name}`.trimEnd();
}
