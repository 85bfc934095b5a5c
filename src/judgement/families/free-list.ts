/** A block's allocations, its entries and its list of free addresses must agree. */
import type { IPAMBlock } from "../../api/v3.ts";
import { rangeOf } from "../../ipam/block.ts";
import { size } from "../../net/cidr.ts";
import { addressTexts } from "../allocations.ts";
import { family, nameOf } from "../finding.ts";
import { repair } from "../mend.ts";

type Code = keyof typeof codes;
type Say = (code: Code, message: string, address?: string) => void;

const codes = {
  AllocationPointsNowhere: {
    severity: "critical",
    title: "An allocation points at an entry that does not exist",
    means:
      "The address is taken, and nobody can say by whom: it is never released, and programs that trust the index fail " +
      "on the whole block. Left behind by a write from outside of Calico's protocol.",
    mend: repair,
  },
  UnusedAttribute: {
    severity: "info",
    title: "A block keeps an entry that no address points at",
    means: "Left over from a release; the next write of the block drops it.",
    mend: repair,
  },
  FreeAndAllocated: {
    severity: "critical",
    title: "An address is allocated, and in the list of free ones too",
    means: "It will be handed out a second time while its first owner still uses it.",
    mend: repair,
  },
  FreeTwice: {
    severity: "critical",
    title: "An address stands in the list of free ones more than once",
    means: "It will be handed out to two owners, one after the other.",
    mend: repair,
  },
  FreeOutOfRange: {
    severity: "critical",
    title: "The list of free addresses names one that is beyond the block",
    means: "Whoever takes it gets an address of somebody else's block.",
    mend: repair,
  },
  LostAddress: {
    severity: "warning",
    title: "An address is neither allocated nor free",
    means: "Nobody has it, and it is never handed out: the block has shrunk.",
    mend: repair,
  },
} as const;

export const freeList = family<Code>({
  title: "Allocated and free addresses of a block",
  codes,
  look({ blocks }, report) {
    for (const block of blocks) {
      if (BigInt(block.spec.allocations.length) !== size(rangeOf(block))) continue; // its ordinals are of no address
      const say: Say = (code, message, address) => report(code, nameOf(block), message, { address });
      const textAt = addressTexts(rangeOf(block));
      entries(block, textAt, say);
      queue(block, textAt, say);
    }
  },
});

function entries({ spec }: IPAMBlock, textAt: (ordinal: number) => string, say: Say): void {
  const used = new Set<number | null>(spec.allocations);
  for (const [ordinal, index] of spec.allocations.entries()) {
    if (index === null || spec.attributes[index] !== undefined) continue;
    const count = spec.attributes.length;
    say("AllocationPointsNowhere", `ordinal ${ordinal} points at entry ${index} of ${count}`, textAt(ordinal));
  }
  for (const [index, { handle_id: handle = "none" }] of spec.attributes.entries()) {
    if (!used.has(index)) say("UnusedAttribute", `no address points at entry ${index} (handle ${handle})`);
  }
}

function queue({ spec }: IPAMBlock, textAt: (ordinal: number) => string, say: Say): void {
  const seen = new Set<number>();
  for (const ordinal of spec.unallocated) {
    if (!(ordinal in spec.allocations)) say("FreeOutOfRange", `spec.unallocated names ordinal ${ordinal}`);
    else if (seen.has(ordinal))
      say("FreeTwice", `ordinal ${ordinal} stands twice in spec.unallocated`, textAt(ordinal));
    seen.add(ordinal);
  }
  for (const [ordinal, index] of spec.allocations.entries()) {
    if (index !== null && seen.has(ordinal)) {
      say("FreeAndAllocated", `ordinal ${ordinal} is allocated, and in spec.unallocated`, textAt(ordinal));
    }
    if (index === null && !seen.has(ordinal)) {
      say("LostAddress", `ordinal ${ordinal} is not allocated, and not in spec.unallocated`, textAt(ordinal));
    }
  }
}
