/**
 * autoAssign: configuration and pools, then addresses out of the host's own blocks, out of newly claimed ones, and
 * (unless affinity is strict) borrowed from others.
 */

import { blockName } from "../api/names.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { formatCidr } from "../net/cidr.ts";
import {
  type AutoAssignResult,
  type IPAMAssignments,
  partialFulfillmentError,
  rememberPartial,
} from "./assignments.ts";
import { type AutoAssignArgs, checkArguments } from "./auto-assign-args.ts";
import { collect } from "./block.ts";
import { configurationIn } from "./config.ts";
import { type Context, callingHost } from "./context.ts";
import { IpamError } from "./errors.ts";
import { Hand, takeFrom } from "./hand.ts";
import { type Knowledge, know } from "./knowledge.ts";
import { heldInstead } from "./max-alloc.ts";
import { blocksToBorrow, claimNewBlock } from "./new-block.ts";
import { releaseIPs } from "./release.ts";
import { choosePoolsFor, type FamilyPools, ownBlocks, prepareSearch } from "./search.ts";
import { type BlockCap, blockCap, capWords, usageWords } from "./shortage.ts";

/**
 * The pools of both families are chosen before anything is written. Then IPv4 first; an error there keeps IPv6 from being
 * tried.
 */
export async function autoAssign(
  context: Context,
  args: AutoAssignArgs,
  options: CallOptions,
): Promise<AutoAssignResult> {
  const { num4 = 0, num6 = 0, intendedUse, namespace } = args;
  checkArguments(args);
  if (num4 === 0 && num6 === 0) return { v4: null, v6: null };
  const host = callingHost(context, args.hostname);
  const knowledge = await know(context, { host, intendedUse, namespace }, options);
  const families = [
    ...(num4 > 0 ? [await planFamily(knowledge, args, 4, num4)] : []),
    ...(num6 > 0 ? [await planFamily(knowledge, args, 6, num6)] : []),
  ];
  const hands: Hand[] = [];
  try {
    for (const { pools, count, held } of families) {
      const hand = new Hand(await prepareSearch(pools), args, count);
      hands.push(hand);
      if (held) hand.hold(held);
      await fill(hand);
    }
    if (args.allOrNothing) refuseShort(hands);
  } catch (error) {
    if (args.allOrNothing) await undo(context, hands);
    rememberPartial(error, resultOf(hands));
    throw error;
  }
  return resultOf(hands);
}

/** Of a family that was not come to there is no result. */
function resultOf(hands: readonly Hand[]): AutoAssignResult {
  const of = (version: IpVersion) => hands.find(({ search }) => search.version === version)?.assignments() ?? null;
  return { v4: of(4), v6: of(6) };
}

/** What is decided for one family before anything is written. */
interface FamilyPlan {
  readonly pools: FamilyPools;
  readonly count: number;
  /** What the handle has already, where it may get no more. */
  readonly held: readonly string[] | undefined;
}

async function planFamily(
  knowledge: Knowledge,
  args: AutoAssignArgs,
  version: IpVersion,
  count: number,
): Promise<FamilyPlan> {
  const [requested = [], reserved] =
    version === 4 ? [args.ipv4Pools, args.hostReservedAttrIPv4s] : [args.ipv6Pools, args.hostReservedAttrIPv6s];
  const pools = await choosePoolsFor(knowledge, { version, requested, reserved });
  const reader = { ...knowledge, version, cooldownSeconds: knowledge.config.ipCooldownSeconds };
  try {
    return { pools, count, held: await heldInstead(reader, args, count) };
  } catch (error) {
    const none: IPAMAssignments = {
      ips: [],
      ipVersion: version,
      numRequested: count,
      hostReservedAttr: reserved ?? null,
      msgs: [],
    };
    rememberPartial(error, { v4: null, v6: null, [`v${version}`]: none });
    throw error;
  }
}

/** @throws IpamError NotAllAssigned */
function refuseShort(hands: readonly Hand[]): void {
  const shortages = hands.flatMap((hand) => partialFulfillmentError(hand.assignments()) ?? []);
  if (shortages.length === 0) return;
  const message = `not all addresses could be assigned, and none is kept (allOrNothing): ${shortages.join("; ")}`;
  throw new IpamError("NotAllAssigned", message, { details: shortages });
}

const UNDO_MS = 30_000;

/** Releases what the call took, whatever became of its signal. What cannot be released stays in the partial result. */
async function undo(context: Context, hands: readonly Hand[]): Promise<void> {
  const options = { signal: AbortSignal.timeout(UNDO_MS) };
  for (const hand of hands) {
    try {
      if (hand.taken.length > 0) await releaseIPs(context, hand.taken, options);
      hand.drop();
    } catch (error) {
      context.warn(`addresses of handle ${hand.args.handleID} could not be released: ${error}`);
    }
  }
}

async function fill(hand: Hand): Promise<void> {
  await fillFromOwnBlocks(hand);
  const refusal = await fillFromNewBlocks(hand);
  if (!hand.search.config.strictAffinity) await borrow(hand, refusal === undefined);
  if (refusal && hand.short > 0) throw refused(hand, refusal);
}

async function fillFromOwnBlocks(hand: Hand): Promise<void> {
  for await (const [row, loaded] of ownBlocks(hand.search)) {
    if (loaded) await takeFrom(hand, loaded);
    else hand.owned.delete(blockName(row.spec.cidr));
    if (hand.short === 0) return;
  }
}

/** Why no new block may be claimed. */
type Refusal = BlockCap | "NoClaimAllowed";

/** The cap gates claims, and nothing else. Returns what keeps the host from claiming more. */
async function fillFromNewBlocks(hand: Hand): Promise<Refusal | undefined> {
  const { config } = hand.search;
  const limits = { global: config.maxBlocksPerHost, request: hand.args.maxBlocksPerHost ?? 0 };
  const cap = blockCap(limits, configurationIn(hand.search.context.datastore));
  const passed = new Set<string>();
  while (hand.short > 0) {
    if (hand.owned.size >= cap.limit) {
      hand.note(`Need to allocate an IPAM block but could not - limit of ${cap.limit} blocks reached for this node`);
      return cap;
    }
    if (!config.autoAllocateBlocks) return "NoClaimAllowed";
    const claimed = await claimNewBlock(hand.search, passed, (message) => hand.note(message));
    if (claimed.length === 0) {
      if (config.strictAffinity) hand.note("No more free affine blocks and strict affinity enabled");
      return undefined;
    }
    for (const loaded of claimed) {
      const { name } = loaded.block.metadata;
      passed.add(name);
      hand.owned.add(name);
      if (hand.short > 0) await takeFrom(hand, loaded);
    }
  }
  return undefined;
}

function refused(hand: Hand, refusal: Refusal): IpamError {
  const { search, owned, ownSeen, cooling } = hand;
  const usage = usageWords(ownSeen, search.cooldownSeconds);
  const details = [usage, cooling].filter((words) => words !== undefined);
  if (refusal === "NoClaimAllowed") {
    const stored = configurationIn(search.context.datastore);
    const why = `${stored} has autoAllocateBlocks: false, so that no host claims new blocks`;
    return new IpamError("NoClaimAllowed", "failed to find or claim a block", { details: [why, ...details] });
  }
  const why = capWords(search.host, owned.size, refusal);
  const message = "cannot allocate new block due to per host block limit";
  return new IpamError("BlockLimit", message, { details: [why, ...details] });
}

/** Addresses out of blocks of others, or of nobody. */
async function borrow(hand: Hand, sayWhereNothingIsLeft: boolean): Promise<void> {
  if (hand.short === 0) return;
  const { context, cooldownSeconds } = hand.search;
  const exhausted: string[] = [];
  for (const { pool, blocks } of await blocksToBorrow(hand.search, hand.owned)) {
    for (const { stored, covered } of blocks) {
      await takeFrom(hand, { stored, block: collect(stored, cooldownSeconds, context.clock()) }, covered);
      if (hand.short === 0) break;
    }
    if (hand.short === 0) break;
    exhausted.push(formatCidr(pool.cidr));
  }
  if (exhausted.length > 0 && sayWhereNothingIsLeft) hand.note(`No IPs available in pools: [${exhausted.join(" ")}]`);
}
