/**
 * What a collection frees, and what it leaves alone, each with its reason. It goes by the findings that `check` tells, so
 * that the two cannot disagree. Pure.
 */

import { plural } from "../api/plural.ts";
import type { BlockAffinity, IPAMBlock, IPAMHandle } from "../api/v3.ts";
import { attributeAt, collect, isCooling } from "../ipam/block.ts";
import { problemOf } from "../ipam/block-problem.ts";
import { type Allocation, allocationsOf } from "./allocations.ts";
import { emptyBlockDecisions } from "./empty-blocks.ts";
import type { Finding } from "./finding.ts";
import { type Usages, usageOf } from "./in-use.ts";
import type { Inventory } from "./inventory.ts";

export type Decision =
  /** Addresses of the block that have cooled down. */
  | { readonly action: "free"; readonly block: IPAMBlock; readonly why: string }
  /** Leaked addresses of one handle: all that it has. */
  | { readonly action: "release"; readonly allocations: readonly Allocation[]; readonly why: string }
  | { readonly action: "delete handle"; readonly handle: IPAMHandle; readonly why: string }
  | { readonly action: "delete block"; readonly block: IPAMBlock; readonly why: string }
  /** An empty block that its owner can do without. */
  | { readonly action: "give up"; readonly block: IPAMBlock; readonly why: string }
  | { readonly action: "keep"; readonly object: string; readonly why: string };

/** What two looks, some time apart, came to. */
export interface TwoLooks {
  readonly inventory: Inventory;
  /** Everything that the second look found. */
  readonly found: readonly Finding[];
  /** What of it both looks found. */
  readonly lasting: readonly Finding[];
  /** Whether an object is at the second look as it was at the first. */
  readonly isUnchanged: (object: IPAMBlock | IPAMHandle | BlockAffinity) => boolean;
}

const keep = (object: string, why: string): Decision => ({ action: "keep", object, why });

export function collectionOf(looks: TwoLooks, now: Date): Decision[] {
  return [
    ...coldAddresses(looks, now),
    ...leakedAddresses(looks),
    ...leftAlone(looks),
    ...orphanHandles(looks),
    ...emptyBlockDecisions(looks, now),
  ];
}

/** Time alone decides; nothing needs a second look. */
function coldAddresses({ inventory: { blocks, config, snapshot } }: TwoLooks, now: Date): Decision[] {
  const usages = usageOf(snapshot);
  return blocks.flatMap((block): Decision[] => {
    const cooling = coolingIn(block);
    if (cooling === 0) return [];
    const problem = problemOf(block);
    if (problem !== undefined) return [keep(nameOfBlock(block), `cannot be collected, it is malformed: ${problem}`)];
    const left = coolingIn(collect(block, config.ipCooldownSeconds, now));
    const rest = left > 0 ? `${plural(left, "address")} still cooling down` : "";
    if (left === cooling) return [keep(nameOfBlock(block), rest)];
    const used = coolingAndUsed(block, usages);
    if (used !== undefined) return [keep(nameOfBlock(block), used)];
    return [
      {
        action: "free",
        block,
        why: [`${plural(cooling - left, "address")} cooled down`, rest].filter(Boolean).join("; "),
      },
    ];
  });
}

/** Why what cools down in the block is not freed: it was released by mistake, or nothing says who uses it. */
export function coolingAndUsed(block: IPAMBlock, usages: Usages): string | undefined {
  for (const { address, releasedAt } of allocationsOf(block)) {
    if (releasedAt === undefined) continue;
    const { inUse, because } = usages.at(address);
    if (inUse !== "no") return `${address} has cooled down, and ${because}`;
  }
  return undefined;
}

const nameOfBlock = ({ metadata }: IPAMBlock) => `IPAMBlock/${metadata.name}`;

function coolingIn(block: IPAMBlock): number {
  return block.spec.allocations.filter((index, ordinal) => {
    const attribute = index === null ? undefined : attributeAt(block, ordinal);
    return attribute !== undefined && isCooling(attribute);
  }).length;
}

/** All or none of a handle: one address of it that is not surely leaked keeps the others. */
function leakedAddresses({ inventory, found, lasting }: TwoLooks): Decision[] {
  const leaks = (findings: readonly Finding[]) =>
    new Map(
      findings.flatMap((finding) =>
        finding.code === "LeakedAddress" ? [[placeOf(finding.object.name, finding.address), finding]] : [],
      ),
    );
  const place = ({ block, address }: Allocation) => placeOf(block.metadata.name, address);
  const [all, sure] = [leaks(found), leaks(lasting)];
  const usages = usageOf(inventory.snapshot);
  return holdingsOf(inventory, all).map((allocations): Decision => {
    const unsure = allocations.find((one) => !sure.has(place(one)) || usages.of(one).inUse !== "no");
    if (unsure === undefined) return { action: "release", allocations, why: sure.get(place(allocations[0]!))!.message };
    const others = allocations.length > 1 ? ", and of a handle all addresses are released or none" : "";
    const why = all.has(place(unsure)) ? "was seen leaked for the first time" : "is not leaked";
    return keep(allocations.map(({ address }) => address).join(" "), `${unsure.address} ${why}${others}`);
  });
}

/** Two blocks may hold the same address. */
const placeOf = (block: string, address = "") => `${block} ${address}`;

/** What each handle has of which an address is leaked; an address without handle is by itself. */
function holdingsOf({ blocks }: Inventory, leaks: ReadonlyMap<string, Finding>): Allocation[][] {
  const handles = new Set(Array.from(leaks.values(), ({ handle }) => handle));
  const held = blocks.flatMap((block) =>
    Array.from(allocationsOf(block)).filter(
      ({ address, handle, releasedAt }) =>
        releasedAt === undefined &&
        (handle === undefined ? leaks.has(placeOf(block.metadata.name, address)) : handles.has(handle)),
    ),
  );
  return [
    ...Map.groupBy(
      held,
      ({ handle, address, block }) => handle ?? `\0${placeOf(block.metadata.name, address)}`,
    ).values(),
  ];
}

/** Allocated, used by nobody that can be seen, and not called leaked: why not. */
const LEFT_ALONE = ["UnlistedAddress", "UnknownOwner"];

function leftAlone({ found }: TwoLooks): Decision[] {
  const left = found.filter(({ code }) => LEFT_ALONE.includes(code));
  return left.map(({ code, address, message }) => keep(address!, `${code}: ${message}`));
}

function orphanHandles({ inventory, found, lasting, isUnchanged }: TwoLooks): Decision[] {
  const handles = new Map(inventory.handles.map((handle) => [handle.metadata.name, handle]));
  const orphans = (findings: readonly Finding[]) => findings.filter(({ code }) => code === "OrphanHandle");
  const sure = new Set(orphans(lasting).map(({ object }) => object.name));
  return orphans(found).map(({ object: { name }, message }): Decision => {
    const handle = handles.get(name)!;
    if (!sure.has(name)) return keep(`IPAMHandle/${name}`, "was seen without addresses for the first time");
    if (!isUnchanged(handle)) return keep(`IPAMHandle/${name}`, "was changed between the two looks");
    return { action: "delete handle", handle, why: message };
  });
}
