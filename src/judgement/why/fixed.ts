/** Addresses that a pod's annotation asks for: each is given as it is, or the pod gets none. */
import { disabledBecause, poolFor } from "../../ipam/pools.ts";
import { formatAddress, parseAddress } from "../../net/address.ts";
import { type Allocation, allocationAt } from "../allocations.ts";
import type { PodFacts } from "../facts.ts";
import { type Usage, usageOf } from "../in-use.ts";
import { freeAt, type Inventory } from "../inventory.ts";
import { ownerName } from "../owners.ts";
import { quoted } from "../shell.ts";
import { podName } from "../users.ts";
import type { Cause } from "./codes.ts";

interface Refusal {
  /** What is so: a clause that follows "which". */
  readonly because: string;
  /** What to run; else a person looks. */
  readonly command?: string;
}

/** One cause for each address that cannot be given; reservations, selectors and limits do not count. */
export function fixedCauses(inventory: Inventory, pod: PodFacts): Cause[] {
  return (pod.askedAddresses ?? []).flatMap((text) => {
    const refused = refusal(inventory, pod, text);
    if (refused === undefined) return [];
    const { because, command = `ipamctl show --ip ${quoted(text)}` } = refused;
    return [{ code: "AddressTaken", message: `its annotation asks for ${text}, which ${because}`, command }];
  });
}

function refusal(inventory: Inventory, pod: PodFacts, text: string): Refusal | undefined {
  const address = parseAddress(text);
  if (address === undefined) return { because: "is no address" };
  const pool = poolFor(inventory.pools, address);
  if (pool === undefined) return { because: "is in no pool" };
  const closed = disabledBecause(pool);
  if (closed !== undefined) return { because: `is in pool "${pool.name}", which ${closed}` };
  const held = inventory.index.with(address).flatMap((block) => allocationAt(block, address) ?? []);
  const allocated = held.find(({ releasedAt }) => releasedAt === undefined);
  const usages = usageOf(inventory.snapshot);
  if (allocated !== undefined) return holder(allocated, pod, usages.of(allocated));
  const { inUse, because } = usages.at(formatAddress(address));
  if (inUse !== "no") return { because: inUse === "yes" ? `is in use: ${because}` : `may be in use: ${because}` };
  const [cooling] = held;
  return cooling && { because: `cools down until ${freeAt(inventory, cooling.releasedAt!)}` };
}

/** A sandbox of its own that is gone holds the address just as another pod would: the plugin gives it to no other handle. */
function holder(allocation: Allocation, pod: PodFacts, { inUse }: Usage): Refusal {
  const { owner, handle = "none", address } = allocation;
  const { type = "somebody", owner: name = "" } = ownerName(owner);
  if (name === podName(pod)) {
    const because = `is held by an earlier sandbox of the pod itself (handle ${handle}): release it once that sandbox is gone`;
    return { because, command: `ipamctl release ${address}${inUse === "no" ? "" : " --even-in-use"}` };
  }
  const because = `is allocated to ${type} ${name}`.trimEnd();
  return inUse === "no" ? { because: `${because}, and leaked`, command: `ipamctl release ${address}` } : { because };
}
