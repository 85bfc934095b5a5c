/** assignIP: one particular address. Reservations, caps and selectors are for automatic allocation and do not count. */

import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { type Address, formatAddress, width } from "../net/address.ts";
import { type Cidr, cidrOf, contains } from "../net/cidr.ts";
import { affinityText } from "./affinity.ts";
import { commit, type Taker } from "./allocation.ts";
import { addressFrom, type HostReservedAttr, newBlock, ordinalOf, rangeOf } from "./block.ts";
import { assign } from "./block-changes.ts";
import { type Claimer, claimBlock, confirmedBlock, isOwn, WAITING_RACES } from "./claim.ts";
import type { IPAMConfig } from "./config.ts";
import { type Context, callingHost, configFor, type LoadedBlock, listPools } from "./context.ts";
import { IpamError, isIpamError } from "./errors.ts";
import { checkHandle } from "./handle.ts";
import { heldAtLimit, heldInstead, unlessOvercounted } from "./max-alloc.ts";
import { blockOverlap, findBlockHolding, findOverlaps, overlapsAtHand } from "./overlap.ts";
import { blockOf, closedAround, type IntendedUse, isEnabled, type Pool, poolFor, poolsOf } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";
import { mayBeWithdrawn, staying } from "./unfinished.ts";

/** Which address, for whom. */
export interface AssignIPArgs extends Taker {
  /** The address. */
  readonly ip: string;
  /** Host that asks. Default: this one's name, lower-cased. */
  readonly hostname?: string | undefined;
  /** What the block keeps back, where this call creates it. */
  readonly hostReservedAttr?: HostReservedAttr | undefined;
  /** Enforces the pool's allowedUses. Default: not enforced. */
  readonly intendedUse?: IntendedUse | "" | undefined;
}

interface Request extends Claimer {
  readonly args: AssignIPArgs;
  readonly context: Context;
  readonly options: CallOptions;
  readonly config: IPAMConfig;
  readonly pool: Pool;
  /** Canonical text of the address. */
  readonly ip: string;
}

export async function assignIP(context: Context, args: AssignIPArgs, options: CallOptions): Promise<void> {
  const address = addressFrom(args.ip);
  checkHandle(args.handleID);
  const pools = poolsOf(await listPools(context, options));
  const pool = poolOf(pools, address);
  checkUse(args, pool);
  const config = await configFor(context, options);
  const affinityType = args.intendedUse === "LoadBalancer" ? "virtual" : "host";
  const owner = { affinityType, host: callingHost(context, args.hostname) } as const;
  const claimer = { owner, pools, reserved: args.hostReservedAttr, cooldownSeconds: config.ipCooldownSeconds };
  const request: Request = { ...claimer, args, context, options, config, pool, ip: formatAddress(address) };
  const lost = [
    "Conflict",
    "NotFound",
    "BlockClaimConflict",
    "UnfinishedClaim",
    "StaleAffinity",
    "HandleBusy",
  ] as const;
  const assigning = retryLostRaces(() => assignOnce(request), { what: `assigning ${args.ip}`, lost, ...options });
  await unlessOvercounted(assigning);
}

function poolOf(pools: readonly Pool[], address: Address): Pool {
  const pool = poolFor(pools.filter(isEnabled), address);
  if (pool) return pool;
  const details = closedAround(pools, cidrOf(address, width(address.version)));
  // The newline is the reference's, whose text is kept to the letter.
  throw new IpamError("NotInPool", "The provided IP address is not in a configured pool\n", { details });
}

function checkUse({ ip, intendedUse }: AssignIPArgs, { name, allowedUses }: Pool): void {
  if (!intendedUse || allowedUses.includes(intendedUse)) return;
  const message =
    `IP address ${ip} is in IP pool "${name}", which is not allowed for use "${intendedUse}" ` +
    `(allowedUses: [${allowedUses.join(" ")}])`;
  throw new IpamError("UseNotAllowed", message);
}

async function assignOnce(request: Request): Promise<void> {
  const { args, context, options, owner, config } = request;
  if (await isHeldBefore(request)) return;
  const { block: before } = await loadOrClaim(request);
  if (config.strictAffinity) checkAffinity(before, affinityText(owner));
  const ordinal = ordinalOf(before, addressFrom(request.ip))!;
  try {
    const after = assign(before, ordinal, args, request.cooldownSeconds);
    await refuseCovered(request, before);
    await commit(context, args, { before, after, ordinals: [ordinal] }, options);
    options.signal?.throwIfAborted();
  } catch (error) {
    if (isIpamError(error, "MaxAllocReached")) return holdsAlready(request);
    if (!isRepeated(error, args)) throw error;
  }
}

/** An address that another block covers too is given by neither. Of a confirmed own block that is asked only where blocks are at hand. */
async function refuseCovered(request: Request, block: IPAMBlock): Promise<void> {
  const { context, options, owner, ip } = request;
  const address = addressFrom(ip);
  const own = block.metadata.name;
  const atHand = await overlapsAtHand(context, rangeOf(block), options);
  const others =
    atHand ??
    (isOwn({ owner }, { block, stored: block }) ? [] : (await findOverlaps(context, [block], options)).get(own)!);
  if (others.length === 0) return;
  if (await mayBeWithdrawn(request, block))
    throw blockOverlap(rangeOf(block), others, "its claim is not confirmed, and nothing is allocated from it");
  const single = cidrOf(address, width(address.version));
  const covering = await staying(
    request,
    others.filter(({ range }) => contains(range, single)),
  );
  if (covering.length > 0)
    throw blockOverlap(rangeOf(block), covering, `${ip} is in both and is allocated from neither`);
}

async function loadOrClaim(request: Request): Promise<LoadedBlock> {
  const { context, options, pool, ip, cooldownSeconds } = request;
  const address = addressFrom(ip);
  const around = { address, block: blockOf(pool, address) };
  const { loaded, listed } = await findBlockHolding(context, around, cooldownSeconds, { ...options, fresh: true });
  if (!loaded) {
    refuseKeptBack(request, around.block);
    return claimBlock(context, { ...request, listed }, around.block, options, WAITING_RACES);
  }
  return isOwn(request, loaded) ? confirmedBlock(context, request, loaded, options) : loaded;
}

/** No block is claimed for an address that its host would keep back in it. @throws IpamError AlreadyExists */
function refuseKeptBack({ args, owner, ip, reserved }: Request, cidr: Cidr): void {
  if (!reserved) return;
  const unused = { affinity: affinityText(owner), claimTime: new Date(0), sequenceNumber: 0n };
  const block = newBlock({ cidr, reserved, ...unused });
  assign(block, ordinalOf(block, addressFrom(ip))!, args);
}

function checkAffinity({ spec }: LoadedBlock["block"], owner: string): void {
  if (spec.affinity === owner) return;
  const message = spec.affinity
    ? "Block host affinity does not match"
    : `Attempt to assign from block ${spec.cidr} with no affinity`;
  const details = [`block ${spec.cidr} belongs to ${spec.affinity ?? "nobody"}, and strictAffinity is true`];
  throw new IpamError("AffinityMismatch", message, { details });
}

/** With a limit, the same handle asking again for what it has is served. */
function isRepeated(error: unknown, { handleID, maxAllocToHandlePerIPVersion = 0 }: AssignIPArgs): boolean {
  if (!isIpamError(error, "AlreadyExists") || handleID === undefined) return false;
  return maxAllocToHandlePerIPVersion > 0 && error.holder?.handleID === handleID;
}

/** Whether the handle has the address already. @throws IpamError MaxAllocReached where it has others, as many as it may */
async function isHeldBefore(request: Request): Promise<boolean> {
  const { args, ip } = request;
  const held = await heldInstead(readerOf(request), args, 1);
  if (held?.some((masked) => masked.startsWith(`${ip}/`))) return true;
  if (held) throw limitReached(request, held);
  return false;
}

const readerOf = ({ pool, ...request }: Request) => ({ ...request, version: pool.cidr.version });

async function holdsAlready(request: Request): Promise<void> {
  const held = await heldAtLimit(readerOf(request), request.args, 1);
  if (!held.some((masked) => masked.startsWith(`${request.ip}/`))) throw limitReached(request, held);
}

function limitReached({ args, ip }: Request, held: readonly string[]): IpamError {
  const message =
    `handle ${args.handleID} already has IP(s) allocated, cannot assign additional IP ${ip} ` +
    `(maxAllocPerIPVersion=${args.maxAllocToHandlePerIPVersion})`;
  return new IpamError("MaxAllocReached", message, { details: [`it has ${held.join(", ")}`] });
}
