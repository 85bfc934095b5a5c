/** autoAssign: addresses for a handle out of the host's own blocks, of newly claimed ones, or borrowed. */
import { blockName } from "../api/names.ts";
import type { AttributeMap, BlockAffinity } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { rangeCovering } from "../net/address-set.ts";
import { formatCidr, parseCidr } from "../net/cidr.ts";
import { affinityText } from "./affinity.ts";
import { commit } from "./allocation.ts";
import { type AutoAssignResult, type IPAMAssignments, rememberPartial } from "./assignments.ts";
import { collect, type HostReservedAttr, maskedAddress, rangeOf } from "./block.ts";
import { allocate } from "./block-changes.ts";
import { DEFAULT_MAX_BLOCKS_PER_HOST } from "./config.ts";
import { type Context, found, type LoadedBlock, loadBlock } from "./context.ts";
import { IpamError, isIpamError } from "./errors.ts";
import { checkHandle } from "./handle.ts";
import { existingAddresses } from "./max-alloc.ts";
import type { Labelled } from "./nodes.ts";
import { checkFamily, type IntendedUse } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";
import { blocksToBorrow, claimNewBlock, type Knowledge, know, ownBlock, prepareSearch, type Search } from "./search.ts";

export interface AutoAssignArgs {
  /** Number of IPv4 addresses. Default 0. */
  readonly num4?: number | undefined;
  /** Number of IPv6 addresses. Default 0. */
  readonly num6?: number | undefined;
  /** Handle to release them by. Default: none. */
  readonly handleID?: string | undefined;
  /** Attributes of the active owner; `node` should be among them. */
  readonly attrs?: AttributeMap | undefined;
  /** Host that asks. Default: this one's name, lower-cased. */
  readonly hostname?: string | undefined;
  /** CIDRs of the pools to draw from. Default: every automatic one that selects node and namespace. */
  readonly ipv4Pools?: readonly string[] | undefined;
  readonly ipv6Pools?: readonly string[] | undefined;
  /** Most blocks the host may own; the configuration's limit holds as well. Default 0: only that one. */
  readonly maxBlocksPerHost?: number | undefined;
  /** What new blocks keep back for a Windows host. */
  readonly hostReservedAttrIPv4s?: HostReservedAttr | undefined;
  readonly hostReservedAttrIPv6s?: HostReservedAttr | undefined;
  /** What the addresses are for. Required. */
  readonly intendedUse: IntendedUse;
  /** Most addresses of one family the handle may have; what it has is given again. Default 0: no limit. */
  readonly maxAllocToHandlePerIPVersion?: number | undefined;
  /** The namespace that pools are selected by. Default: one without labels. */
  readonly namespace?: Labelled | undefined;
}

interface Request extends Knowledge {
  readonly args: AutoAssignArgs;
}

/** IPv4 first; an error there keeps IPv6 from being tried. */
export async function autoAssign(
  context: Context,
  args: AutoAssignArgs,
  options: CallOptions,
): Promise<AutoAssignResult> {
  const { num4 = 0, num6 = 0, intendedUse, namespace, hostname: host = context.hostname() } = args;
  checkArguments(args);
  if (num4 === 0 && num6 === 0) return { v4: null, v6: null };
  const knowledge = await know(context, { host, intendedUse, namespace }, options);
  let result: AutoAssignResult = { v4: null, v6: null };
  const request: Request = { ...knowledge, args };
  try {
    if (num4 > 0)
      await assignFamily(request, 4, num4, (v4) => {
        result = { ...result, v4 };
      });
    if (num6 > 0)
      await assignFamily(request, 6, num6, (v6) => {
        result = { ...result, v6 };
      });
  } catch (error) {
    rememberPartial(error, result);
    throw error;
  }
  return result;
}

function checkArguments(args: AutoAssignArgs): void {
  const { num4 = 0, num6 = 0, intendedUse, handleID, ipv4Pools = [], ipv6Pools = [] } = args;
  if (!intendedUse) throw new IpamError("UseRequired", "must specify the intended use when assigning an IP");
  for (const [name, number] of Object.entries({ num4, num6 })) {
    if (Number.isSafeInteger(number) && number >= 0) continue;
    throw new IpamError("InvalidArgument", `${name} must be a whole number, at least 0: ${number}`);
  }
  checkHandle(handleID);
  checkFamily(ipv4Pools, 4);
  checkFamily(ipv6Pools, 6);
}

async function assignFamily(
  request: Request,
  version: IpVersion,
  count: number,
  report: (assigned: IPAMAssignments) => void,
): Promise<void> {
  const { args, config } = request;
  const [requested = [], reserved] =
    version === 4 ? [args.ipv4Pools, args.hostReservedAttrIPv4s] : [args.ipv6Pools, args.hostReservedAttrIPv6s];
  const search = await prepareSearch(request, { version, requested, reserved });
  const hand = new Hand(search, args, count);
  try {
    await fillFromOwnBlocks(hand);
    const limit = await fillFromNewBlocks(hand);
    if (!config.strictAffinity) await borrow(hand, limit === undefined);
    if (limit && hand.short > 0) throw limit;
  } finally {
    report(hand.assignments());
  }
}

/** What one family's call has in hand so far. */
class Hand {
  readonly search: Search;
  readonly args: AutoAssignArgs;
  readonly #count: number;
  /** Names of the host's blocks. */
  readonly owned: Set<string>;
  #ips: readonly string[] = [];
  readonly #msgs = new Set<string>();

  constructor(search: Search, args: AutoAssignArgs, count: number) {
    this.search = search;
    this.args = args;
    this.#count = count;
    this.owned = new Set(search.rows.map(({ spec }) => blockName(spec.cidr)));
  }

  get short(): number {
    return this.#count - this.#ips.length;
  }

  add(ips: readonly string[]): void {
    this.#ips = [...this.#ips, ...ips];
  }

  /** What the handle has already is all it gets. */
  settle(existing: readonly string[]): void {
    this.#ips = existing.slice(0, this.#count);
  }

  note(message: string): void {
    this.#msgs.add(message);
  }

  get count(): number {
    return this.#count;
  }

  assignments(): IPAMAssignments {
    const { version, reserved } = this.search;
    return {
      ips: this.#ips,
      ipVersion: version,
      numRequested: this.#count,
      hostReservedAttr: reserved ?? null,
      msgs: [...this.#msgs],
    };
  }
}

async function fillFromOwnBlocks(hand: Hand): Promise<void> {
  const { search } = hand;
  for (const row of search.rows) {
    if (hand.short === 0) return;
    if (rangeCovering(search.reservations, parseCidr(row.spec.cidr)!)) continue;
    await fillFromOwn(hand, row);
  }
}

async function fillFromOwn(hand: Hand, row: BlockAffinity): Promise<void> {
  const loaded = await ownBlock(hand.search, row);
  if (loaded) await takeFrom(hand, loaded);
  else hand.owned.delete(blockName(row.spec.cidr));
}

/** The cap gates claims, and nothing else. Returns the error to end with where it was met. */
async function fillFromNewBlocks(hand: Hand): Promise<IpamError | undefined> {
  const { config } = hand.search;
  const cap = blockCap(config.maxBlocksPerHost, hand.args.maxBlocksPerHost ?? 0);
  const passed = new Set<string>();
  while (hand.short > 0) {
    if (hand.owned.size >= cap) {
      hand.note(`Need to allocate an IPAM block but could not - limit of ${cap} blocks reached for this node`);
      return new IpamError("BlockLimit", "cannot allocate new block due to per host block limit");
    }
    if (!config.autoAllocateBlocks) throw new IpamError("NoClaimAllowed", "failed to find or claim a block");
    const claimed = await claimNewBlock(hand.search, passed);
    if (!claimed) {
      if (config.strictAffinity) hand.note("No more free affine blocks and strict affinity enabled");
      return undefined;
    }
    const name = claimed.loaded.block.metadata.name;
    passed.add(name);
    if (claimed.fresh) hand.owned.add(name);
    await takeFrom(hand, claimed.loaded);
  }
  return undefined;
}

function blockCap(global: number, request: number): number {
  const limits = [global, request].filter((limit) => limit > 0);
  return limits.length === 0 ? DEFAULT_MAX_BLOCKS_PER_HOST : Math.min(...limits);
}

/** Addresses out of blocks of others, or of nobody. */
async function borrow(hand: Hand, sayWhereNothingIsLeft: boolean): Promise<void> {
  if (hand.short === 0) return;
  const { context, cooldownSeconds } = hand.search;
  const exhausted: string[] = [];
  for (const { pool, blocks } of await blocksToBorrow(hand.search)) {
    for (const stored of blocks) {
      await takeFrom(hand, { stored, block: collect(stored, cooldownSeconds, context.clock()) });
      if (hand.short === 0) break;
    }
    if (hand.short === 0) break;
    exhausted.push(formatCidr(pool.cidr));
  }
  if (exhausted.length > 0 && sayWhereNothingIsLeft) hand.note(`No IPs available in pools: [${exhausted.join(" ")}]`);
}

/** Takes what one block has, up to what is short; where someone else writes it first, from what they left. */
async function takeFrom(hand: Hand, loaded: LoadedBlock): Promise<void> {
  const { context, options, cooldownSeconds } = hand.search;
  let current: LoadedBlock | undefined = loaded;
  await retryLostRaces(
    async () => {
      current ??= await found(loadBlock(context, rangeOf(loaded.block), cooldownSeconds, options));
      const block = current?.block;
      current = undefined;
      if (block) await takeOnce(hand, block);
    },
    {
      what: `assigning addresses in block ${loaded.block.spec.cidr} to handle ${hand.args.handleID}`,
      ...options,
      lost: ["Conflict", "NotFound", "HandleBusy"],
    },
  );
}

async function takeOnce(hand: Hand, before: LoadedBlock["block"]): Promise<void> {
  const { search, args } = hand;
  const { context, options, owner, config, reservations } = search;
  if (config.strictAffinity && before.spec.affinity !== affinityText(owner)) return;
  const { block: after, ordinals } = allocate(before, hand.short, args, reservations);
  if (ordinals.length === 0) return;
  try {
    await commit(context, args, { before, after, ordinals }, options);
    hand.add(ordinals.map((ordinal) => maskedAddress(before, ordinal)));
  } catch (error) {
    if (!isIpamError(error, "MaxAllocReached")) throw error;
    hand.settle(await existingAddresses(search, args, hand.count));
  }
}
