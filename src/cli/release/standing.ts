/** Whether an address may be released: who uses it, or what keeps anybody from saying. */
import { type Allocation, isWindowsReserved } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { ownerName } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";

export type Standing =
  | { readonly may: true; readonly why: string }
  /** `never`: whatever the user insists on. */
  | { readonly may: false; readonly why: string; readonly never?: true };

const may = (why: string): Standing => ({ may: true, why });
const mayNot = (why: string): Standing => ({ may: false, why });

export function standings(snapshot: Snapshot): (allocation: Allocation) => Standing {
  const usages = usageOf(snapshot);
  const [blind] = snapshot.unread;
  return (allocation) => {
    if (isWindowsReserved(allocation)) return { may: false, why: "a Windows host keeps it for itself", never: true };
    const { inUse, because, unread } = usages.of(allocation);
    const whose = whoseText(allocation);
    if (inUse === "yes")
      return mayNot(usages.usersOf(allocation.address).length > 0 ? because : `${whose}: ${because}`);
    if (unread && blind) return mayNot(`${whose}, and whether it is in use is not known: ${because}`);
    if (inUse === "unknown" && !unread && namesOwner(allocation)) return mayNot(`${whose}: ${because}`);
    return may(unread ? whose : `${whose}: ${because}`);
  };
}

/** What was assigned by hand names nobody, and is for whoever releases it to judge. */
function namesOwner({ owner }: Allocation): boolean {
  const { type, owner: name } = ownerName(owner);
  return type !== undefined && name !== undefined;
}

/** `allocated to pod shop/web-1`. */
export function whoseText({ owner, handle = "none" }: Allocation): string {
  const { type, owner: name } = ownerName(owner);
  const whose = [type, name].filter((word) => word !== undefined).join(" ");
  return `allocated to ${whose || `handle ${handle}`}`;
}
