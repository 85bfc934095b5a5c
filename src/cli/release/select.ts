/** Which addresses the flags mean. */

import { cutHandle } from "../../api/names.ts";
import { type Allocation, allocationsOf } from "../../judgement/allocations.ts";
import type { Inventory } from "../../judgement/inventory.ts";
import { affinityHost, ownerName } from "../../judgement/owners.ts";
import { canonicalAddress } from "../../net/address.ts";
import { UsageError } from "../usage-error.ts";

export interface Selection {
  readonly address?: readonly string[];
  readonly handle?: string;
  readonly pod?: string;
  readonly node?: string;
}

/** What is selected, as a question names it, and whether an allocation is. */
export interface Selector {
  readonly words: string;
  readonly selects: (allocation: Allocation) => boolean;
  /** Addresses that were asked for one by one, canonical. */
  readonly named: readonly string[];
}

/** @throws UsageError for what is no address, or no pod's name */
export function selectorOf({ address = [], handle, pod, node }: Selection): Selector {
  if (handle !== undefined) {
    const id = cutHandle(handle);
    return { words: `handle ${handle}`, selects: (allocation) => allocation.handle === id, named: [] };
  }
  if (pod !== undefined) {
    if (!/^[^/]+\/[^/]+$/.test(pod)) throw new UsageError(`--pod '${pod}' is not NAMESPACE/NAME.`);
    return { words: `pod ${pod}`, selects: ({ owner }) => isOfPod(owner, pod), named: [] };
  }
  if (node !== undefined) {
    return { words: `node ${node}`, selects: (allocation) => usedOn(allocation) === node, named: [] };
  }
  const named = address.map(canonical);
  const set = new Set(named);
  return { words: "", selects: (allocation) => set.has(allocation.address), named };
}

/** A VM's address names the pod too that runs it. */
const isOfPod = (owner: Allocation["owner"], pod: string) =>
  `${owner["namespace"]}/${owner["pod"]}` === pod && ["pod", "vmi"].includes(ownerName(owner).type ?? "");

const usedOn = ({ owner, block }: Allocation) => owner["node"] ?? affinityHost(block);

function canonical(text: string): string {
  const address = canonicalAddress(text);
  if (address === undefined) throw new UsageError(`'${text}' is not an IP address.`);
  return address;
}

/** Selected addresses that somebody has, and those that cool down. */
export function selected({ blocks }: Inventory, { selects }: Selector) {
  const found = blocks.flatMap((block) => Array.from(allocationsOf(block)).filter(selects));
  const held = found.filter(({ releasedAt }) => releasedAt === undefined);
  return { held, cooling: found.filter(({ releasedAt }) => releasedAt !== undefined) };
}
