/** The end of a VM's migration: the alternate owner of its addresses becomes the active one, and the other way round. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { Context } from "./context.ts";
import { IpamError, isIpamError } from "./errors.ts";
import { type AssignmentAttributes, getAssignmentAttributes, ipsByHandle } from "./lookup.ts";
import { type AttributeOwner, emptyAttributeOwner, ownerMatches, setOwnerAttributes } from "./owners.ts";

const SWAP_ATTEMPTS = 5;

/**
 * Makes `target`, the alternate owner, the active one of every address of a VM's handle. Once more is no error.
 * @throws IpamError NotFound (no such handle), AlternateOwnerEmpty, AlternateOwnerMismatch; PreconditionFailed where the
 * owners kept changing
 */
export async function swapOwners(
  context: Context,
  handleID: string,
  target: AttributeOwner,
  options: CallOptions,
): Promise<void> {
  const fresh = { ...options, fresh: true };
  for (const ip of await ipsByHandle(context, handleID, fresh)) await swapOne(context, ip, handleID, target, fresh);
}

async function swapOne(context: Context, ip: string, handleID: string, target: AttributeOwner, options: CallOptions) {
  for (let left = SWAP_ATTEMPTS; ; left--) {
    const attributes = await getAssignmentAttributes(context, ip, options);
    if (ownerMatches(target, attributes.activeOwnerAttrs)) return;
    checkAlternate(ip, attributes, target);
    try {
      return await swap(context, ip, handleID, target, attributes, options);
    } catch (error) {
      if (!isIpamError(error, "PreconditionFailed") || left === 1) throw error;
    }
  }
}

function checkAlternate(ip: string, { alternateOwnerAttrs }: AssignmentAttributes, target: AttributeOwner): void {
  if (ownerMatches(target, alternateOwnerAttrs)) return;
  const wanted = `${target.namespace}/${target.name}`;
  if (ownerMatches(emptyAttributeOwner(), alternateOwnerAttrs)) {
    throw new IpamError("AlternateOwnerEmpty", `${ip} has no alternate owner to swap with: ${wanted} expected`);
  }
  const found = `${alternateOwnerAttrs["namespace"] ?? ""}/${alternateOwnerAttrs["pod"] ?? ""}`;
  throw new IpamError("AlternateOwnerMismatch", `the alternate owner of ${ip} is ${found}, not ${wanted}`);
}

function swap(
  context: Context,
  ip: string,
  handleID: string,
  target: AttributeOwner,
  { activeOwnerAttrs: source, alternateOwnerAttrs }: AssignmentAttributes,
  options: CallOptions,
): Promise<void> {
  const isEmpty = ownerMatches(emptyAttributeOwner(), source);
  const expectedActiveOwner = { namespace: source["namespace"] ?? "", name: source["pod"] ?? "" };
  const updates = {
    activeOwnerAttrs: alternateOwnerAttrs,
    ...(isEmpty ? { clearAlternateOwner: true } : { alternateOwnerAttrs: source }),
  };
  const expected = isEmpty ? { verifyActiveOwnerEmpty: true } : { expectedActiveOwner };
  return setOwnerAttributes(context, ip, handleID, updates, { ...expected, expectedAlternateOwner: target }, options);
}
