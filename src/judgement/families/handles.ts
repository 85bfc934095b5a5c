/** What handles count, and what blocks hold of them. A count may be too high for a moment, and never too low. */
import { cutHandle, handleName } from "../../api/names.ts";
import type { AllocationAttribute, IPAMBlock, IPAMHandle } from "../../api/v3.ts";
import { canonicalCidr } from "../../net/cidr.ts";
import { isWindowsEntry } from "../allocations.ts";
import { family, nameOf, type Report } from "../finding.ts";
import { repair } from "../mend.ts";

type Code = keyof typeof codes;

const codes = {
  OrphanHandle: {
    severity: "info",
    title: "A handle counts addresses that nobody holds",
    means:
      "Harmless: it takes room in the datastore and no address. Left behind where an allocation counted more than it " +
      "took, or where a release was cut off. Deleting it is safe once it was seen twice without change.",
    mend: repair,
    moving: true,
  },
  OvercountedHandle: {
    severity: "info",
    title: "A handle counts more addresses than it holds",
    means:
      "Harmless, except where a limit per handle is in force, as for VMs: there the handle can get no address any more. " +
      "Calico counts what was asked for, not what was found.",
    mend: repair,
    moving: true,
  },
  UndercountedHandle: {
    severity: "warning",
    title: "A handle counts fewer addresses than it holds",
    means: "Releasing by handle deletes the handle before all its addresses are free: the rest is leaked.",
    mend: repair,
    moving: true,
  },
  MissingHandle: {
    severity: "warning",
    title: "A block names a handle that does not exist",
    means: "The address cannot be released by handle, which is how a deleted pod's is released: it will be leaked.",
    mend: repair,
    moving: true,
  },
  MalformedHandle: {
    severity: "warning",
    title: "A handle counts what cannot be counted",
    means: "A count below one, a range that is not written canonically, or no range at all.",
    mend: repair,
    moving: true,
  },
  WrongHandleName: {
    severity: "warning",
    title: "A handle has another name than its id gives",
    means: "It is not found by its id: its addresses cannot be released by handle.",
    mend: repair,
  },
} as const;

/** How many addresses of which range. */
export type Counts = readonly { readonly cidr: string; readonly count: number }[];

export const handles = family<Code>({
  title: "Handles",
  codes,
  look({ blocks, handles: stored }, report) {
    const held = heldByHandle(blocks);
    const canonical = canonicalRanges();
    for (const handle of stored) {
      const ofHandle = held.get(handle.metadata.name) ?? [];
      held.delete(handle.metadata.name);
      malformed(handle, canonical, report);
      compared(handle, ofHandle, canonical, report);
    }
    for (const [name, counts] of held) missing(name, counts, report);
  },
});

/** What blocks hold, by the handle's object name: ids that differ only in case share one. */
export function heldByHandle(blocks: readonly IPAMBlock[]): Map<string, Counts> {
  const held = new Map<string, Counts>();
  for (const block of blocks) {
    const names = block.spec.attributes.map(objectName);
    const cidr = rangeText(block.spec.cidr);
    const one: Counts = [{ cidr, count: 1 }]; // most handles hold just that: they share it
    for (const index of block.spec.allocations) {
      const name = index === null ? undefined : names[index];
      if (name !== undefined) held.set(name, plusOne(held.get(name), one));
    }
  }
  return held;
}

function objectName(attribute: AllocationAttribute): string | undefined {
  const { handle_id: id } = attribute;
  return id === undefined || isWindowsEntry(attribute) ? undefined : handleName(cutHandle(id));
}

/** Blocks come one after the other: the entry of this one can only be the last. */
function plusOne(counts: Counts | undefined, one: Counts): Counts {
  if (counts === undefined) return one;
  const { cidr, count } = counts.at(-1)!;
  return cidr === one[0]!.cidr ? counts.with(-1, { cidr, count: count + 1 }) : [...counts, ...one];
}

const rangeText = (cidr: string, canonical = canonicalCidr) => canonical(cidr) ?? cidr;

/** The canonical text of ranges, each worked out once: many handles name the same ones. */
function canonicalRanges(): typeof canonicalCidr {
  const known = new Map<string, string | undefined>();
  return (cidr) => {
    if (!known.has(cidr)) known.set(cidr, canonicalCidr(cidr));
    return known.get(cidr);
  };
}

function malformed(handle: IPAMHandle, canonical: typeof canonicalCidr, report: Report<Code>): void {
  const { handleID, block } = handle.spec;
  const say = (code: Code, message: string) => report(code, nameOf(handle), message, { handle: handleID });
  for (const [cidr, count] of Object.entries(block)) {
    if (!(count >= 1)) say("MalformedHandle", `counts ${count} addresses in ${cidr}`);
    if (canonical(cidr) !== cidr) say("MalformedHandle", `the range ${cidr} is not written canonically`);
  }
  if (Object.keys(block).length === 0) say("MalformedHandle", "counts nothing: it should be gone");
  const name = handleName(handleID);
  if (handle.metadata.name !== name) say("WrongHandleName", `the handle ${handleID} should be named "${name}"`);
}

function compared(handle: IPAMHandle, held: Counts, canonical: typeof canonicalCidr, report: Report<Code>): void {
  const { handleID: id, block } = handle.spec;
  const say = (code: Code, message: string) => report(code, nameOf(handle), message, { handle: id });
  const ranges = Object.keys(block);
  if (held.length === 0) {
    if (ranges.length > 0)
      say("OrphanHandle", `counts addresses in ${ranges.join(", ")}, and no block holds one of it`);
    return;
  }
  for (const [text, count] of Object.entries(block)) {
    const truth = held.find(({ cidr }) => cidr === rangeText(text, canonical))?.count ?? 0;
    if (count > truth) say("OvercountedHandle", `counts ${count} addresses in ${text}, which holds ${truth} of it`);
  }
  const counted = new Map(Object.entries(block).map(([text, count]) => [rangeText(text, canonical), count]));
  for (const { cidr, count: truth } of held) {
    const count = counted.get(cidr) ?? 0;
    if (count < truth) say("UndercountedHandle", `counts ${count} addresses in ${cidr}, which holds ${truth} of it`);
  }
}

function missing(name: string, held: Counts, report: Report<Code>): void {
  const where = held.map(({ cidr, count }) => `${count} in ${cidr}`).join(", ");
  const message = `there is no such handle, and blocks hold its addresses: ${where}`;
  report("MissingHandle", { kind: "IPAMHandle", name }, message, { handle: name });
}
