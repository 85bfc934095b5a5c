/** Whether an address may be released: who uses it, or what keeps anybody from saying. */
import { type Allocation, isWindowsReserved } from "../../judgement/allocations.ts";
import { ownerLookup } from "../../judgement/owner-lookup.ts";
import { ownerName } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { userText, usesOf } from "../../judgement/uses.ts";

export type Standing =
  | { readonly may: true; readonly why: string }
  /** `never`: whatever the user insists on. */
  | { readonly may: false; readonly why: string; readonly never?: true };

/** Parts with addresses in them: one that is not seen there may be used all the same, whatever its attributes name. */
const USERS = ["nodes", "pods", "services"];

const may = (why: string): Standing => ({ may: true, why });
const mayNot = (why: string): Standing => ({ may: false, why });

export function standings(snapshot: Snapshot): (allocation: Allocation) => Standing {
  const users = Map.groupBy(usesOf(snapshot), ({ address }) => address);
  const verdictOn = ownerLookup(snapshot);
  const [blind] = snapshot.unread;
  const hidden = snapshot.unread.some(({ part }) => USERS.includes(part));
  return (allocation) => {
    if (isWindowsReserved(allocation)) return { may: false, why: "a Windows host keeps it for itself", never: true };
    const [use] = users.get(allocation.address) ?? [];
    if (use) return mayNot(`${userText(use.user)} uses it`);
    const whose = whoseText(allocation);
    const verdict = verdictOn(allocation);
    if (verdict.state === "there") return mayNot(`${whose}, which is there`);
    const isSure = verdict.state === "gone" || !hidden;
    if (verdict.because !== undefined && isSure) return may(`${whose}: ${verdict.because}`);
    return blind ? mayNot(`${whose}, and nobody can say whether it is in use: ${blind.reason}`) : may(whose);
  };
}

/** `allocated to pod shop/web-1`. */
export function whoseText({ owner, handle = "none" }: Allocation): string {
  const { type, owner: name } = ownerName(owner);
  const whose = [type, name].filter((word) => word !== undefined).join(" ");
  return `allocated to ${whose || `handle ${handle}`}`;
}
