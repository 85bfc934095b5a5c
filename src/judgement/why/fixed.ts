/** Addresses that a pod's annotation asks for: each is given as it is, or the pod gets none. */
import { disabledBecause, poolFor } from "../../ipam/pools.ts";
import { formatAddress, parseAddress } from "../../net/address.ts";
import { allocationsOf } from "../allocations.ts";
import type { PodFacts } from "../facts.ts";
import { blockWith, freeAt, type Inventory } from "../inventory.ts";
import { ownerName } from "../owners.ts";
import { quoted } from "../shell.ts";
import { podName } from "../uses.ts";
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
  const block = blockWith(inventory, address);
  if (block === undefined) return undefined;
  const held = Array.from(allocationsOf(block)).find((one) => one.address === formatAddress(address));
  if (held === undefined) return undefined;
  if (held.releasedAt !== undefined) return `cools down until ${freeAt(inventory, held.releasedAt)}`;
  const { type = "somebody", owner = "" } = ownerName(held.owner);
  return owner === podName(pod) ? undefined : `is allocated to ${type} ${owner}`.trimEnd();
}
