/** Owner attributes: who an address is for, without releasing it. Made for VMs that move between nodes. */
import type { AllocationAttribute, AttributeMap, IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { attributeAt, handleOf, ordinalOf } from "./block.ts";
import { withAttributes } from "./block-changes.ts";
import { type Context, cooldownFor, listPools, writeBlock } from "./context.ts";
import { IpamError } from "./errors.ts";
import { noSuchBlock, notAssigned } from "./lookup.ts";
import { loadBlockHolding } from "./overlap.ts";
import { blockAround, isEnabled, poolsOf } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";

/** A pod, by its namespace and name; both empty: nobody. */
export interface AttributeOwner {
  /** Namespace of the pod; "" together with an empty name: nobody. */
  readonly namespace: string;
  /** Name of the pod. */
  readonly name: string;
}

/** Matches attributes that say nobody. */
export function emptyAttributeOwner(): AttributeOwner {
  return { namespace: "", name: "" };
}

/** Whether attributes say this owner. Nobody is said by no attributes at all. */
export function ownerMatches({ namespace, name }: AttributeOwner, attrs: AttributeMap | undefined): boolean {
  if (namespace === "" && name === "") return isNobody(attrs);
  return attrs?.["pod"] === name && attrs["namespace"] === namespace;
}

function isNobody(attrs: AttributeMap | undefined): boolean {
  return attrs === undefined || Object.keys(attrs).length === 0;
}

/** What to change; what is not named stays. */
export interface OwnerAttributeUpdates {
  /** Replaces the active owner's attributes. */
  readonly activeOwnerAttrs?: AttributeMap | undefined;
  /** Removes them. */
  readonly clearActiveOwner?: boolean | undefined;
  /** Replaces the alternate owner's attributes. */
  readonly alternateOwnerAttrs?: AttributeMap | undefined;
  /** Removes them. */
  readonly clearAlternateOwner?: boolean | undefined;
}

/** Each is asked only where its side is being changed. */
export interface OwnerAttributePreconditions {
  /** The active owner must be this one. */
  readonly expectedActiveOwner?: AttributeOwner | undefined;
  /** There must be no active owner. */
  readonly verifyActiveOwnerEmpty?: boolean | undefined;
  /** The alternate owner must be this one. */
  readonly expectedAlternateOwner?: AttributeOwner | undefined;
  /** There must be no alternate owner. */
  readonly verifyAlternateOwnerEmpty?: boolean | undefined;
}

/** All or nothing; other addresses that share the stored entry keep theirs. */
export async function setOwnerAttributes(
  context: Context,
  ip: string,
  handleID: string,
  updates: OwnerAttributeUpdates,
  preconditions: OwnerAttributePreconditions,
  options: CallOptions,
): Promise<void> {
  checkUpdates(updates, preconditions);
  const around = blockAround(poolsOf(await listPools(context, options)).filter(isEnabled), ip);
  if (!around) throw new IpamError("NotInPool", `the provided IP address ${ip} is not in a configured pool`);
  const cooldown = await cooldownFor(context, options);
  const attempt = async () => {
    const loaded = await loadBlockHolding(context, around, cooldown, { ...options, fresh: true });
    if (!loaded) throw noSuchBlock(around.block);
    const { block } = loaded;
    const ordinal = ordinalOf(block, around.address)!;
    const stored = heldBy(block, ordinal, ip, handleID);
    checkPreconditions(stored, ip, updates, preconditions);
    await writeBlock(context, withAttributes(block, ordinal, updated(stored, updates)), options);
  };
  const what = `setting the owner attributes of ${ip}`;
  await retryLostRaces(attempt, { what, lost: ["Conflict", "NotFound"], ...options });
}

function heldBy(block: IPAMBlock, ordinal: number, ip: string, handleID: string): AllocationAttribute {
  const stored = attributeAt(block, ordinal);
  if (!stored) throw notAssigned(ip, "IP is unassigned");
  if (handleOf(stored) === handleID) return stored;
  throw new IpamError("NotAssignedToHandle", `IP ${ip} is not assigned to handle ${handleID}`);
}

function checkUpdates(updates: OwnerAttributeUpdates, preconditions: OwnerAttributePreconditions): void {
  if (!updates) throw new IpamError("InvalidArgument", "updates cannot be nil");
  const exclusive = [
    ["ClearActiveOwner=true and ActiveOwnerAttrs", updates.clearActiveOwner, updates.activeOwnerAttrs],
    ["ClearAlternateOwner=true and AlternateOwnerAttrs", updates.clearAlternateOwner, updates.alternateOwnerAttrs],
    [
      "ExpectedActiveOwner and VerifyActiveOwnerEmpty",
      preconditions.verifyActiveOwnerEmpty,
      preconditions.expectedActiveOwner,
    ],
    [
      "ExpectedAlternateOwner and VerifyAlternateOwnerEmpty",
      preconditions.verifyAlternateOwnerEmpty,
      preconditions.expectedAlternateOwner,
    ],
  ] as const;
  const both = exclusive.find(([, flag, value]) => flag && value !== undefined);
  if (both) throw new IpamError("InvalidArgument", `cannot set both ${both[0]}: these are mutually exclusive`);
}

function checkPreconditions(
  stored: AllocationAttribute,
  ip: string,
  updates: OwnerAttributeUpdates,
  preconditions: OwnerAttributePreconditions,
): void {
  const changesActive = updates.clearActiveOwner || updates.activeOwnerAttrs !== undefined;
  const changesAlternate = updates.clearAlternateOwner || updates.alternateOwnerAttrs !== undefined;
  const { expectedActiveOwner, verifyActiveOwnerEmpty, expectedAlternateOwner, verifyAlternateOwnerEmpty } =
    preconditions;
  const { secondary: active, alternateOwnerAttrs: alternate } = stored;
  const expectedActive = verifyActiveOwnerEmpty ? emptyAttributeOwner() : expectedActiveOwner;
  const expectedAlternate = verifyAlternateOwnerEmpty ? emptyAttributeOwner() : expectedAlternateOwner;
  const details = [
    ...(changesActive ? unexpected("ActiveOwnerAttrs", active, expectedActive) : []),
    ...(changesAlternate ? unexpected("AlternateOwnerAttrs", alternate, expectedAlternate) : []),
  ];
  if (details.length > 0) throw new IpamError("PreconditionFailed", `update conflict: ${ip}`, { details });
}

function unexpected(side: string, attrs: AttributeMap = {}, expected?: AttributeOwner): string[] {
  if (!expected || ownerMatches(expected, attrs)) return [];
  const found = `pod=${attrs["pod"] ?? ""} namespace=${attrs["namespace"] ?? ""}`;
  return [`cannot set ${side}: expected pod=${expected.name} namespace=${expected.namespace} but found ${found}`];
}

function updated(stored: AllocationAttribute, updates: OwnerAttributeUpdates): AllocationAttribute {
  const { secondary, alternateOwnerAttrs, ...rest } = stored;
  const active = updates.clearActiveOwner ? undefined : (updates.activeOwnerAttrs ?? secondary);
  const alternate = updates.clearAlternateOwner ? undefined : (updates.alternateOwnerAttrs ?? alternateOwnerAttrs);
  return {
    ...rest,
    ...(!isNobody(active) && { secondary: { ...active } }),
    ...(!isNobody(alternate) && { alternateOwnerAttrs: { ...alternate } }),
  };
}
