/** What one family's autoAssign has in hand: the addresses so far, and how more are taken out of a block. */
import { blockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { formatAddress } from "../net/address.ts";
import { affinityText } from "./affinity.ts";
import { commit } from "./allocation.ts";
import type { IPAMAssignments } from "./assignments.ts";
import type { AutoAssignArgs } from "./auto-assign-args.ts";
import { addressAt, maskedAddress, rangeOf, sequenceOf } from "./block.ts";
import { allocate } from "./block-changes.ts";
import { found, type LoadedBlock, loadBlock } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { heldAtLimit, unlessOvercounted } from "./max-alloc.ts";
import { addressesOf, findOverlaps, overlapsAtHand } from "./overlap.ts";
import type { ReleaseOptions } from "./release.ts";
import { withheld } from "./reserved.ts";
import { retryLostRaces } from "./retry.ts";
import type { Search } from "./search.ts";
import { coolingWords } from "./shortage.ts";
import { mayBeWithdrawn, staying } from "./unfinished.ts";

/** The only thing in a call that changes: what is in it goes to the caller, also when the call fails. */
export class Hand {
  readonly search: Search;
  readonly args: AutoAssignArgs;
  /** Number of addresses asked for. */
  readonly count: number;
  /** Names of the host's blocks. */
  readonly owned: Set<string>;
  #ips: readonly string[] = [];
  readonly #taken: ReleaseOptions[] = [];
  readonly #msgs = new Set<string>();
  /** Blocks as last seen, by name. */
  readonly #seen = new Map<string, IPAMBlock>();

  constructor(search: Search, args: AutoAssignArgs, count: number) {
    this.search = search;
    this.args = args;
    this.count = count;
    this.owned = new Set(search.rows.map(({ spec }) => blockName(spec.cidr)));
  }

  /** Number of addresses still missing. */
  get short(): number {
    return this.count - this.#ips.length;
  }

  /** The addresses that this call allocated, as they are to be released if it keeps none. */
  get taken(): readonly ReleaseOptions[] {
    return this.#taken;
  }

  take(block: IPAMBlock, ordinals: readonly number[]): void {
    const { handleID: handle } = this.args;
    const sequenceNumber = sequenceOf(block);
    const range = rangeOf(block);
    this.#taken.push(
      ...ordinals.map((ordinal) => ({ address: formatAddress(addressAt(range, ordinal)), handle, sequenceNumber })),
    );
    this.#ips = [...this.#ips, ...ordinals.map((ordinal) => maskedAddress(block, ordinal))];
  }

  /** The call keeps nothing. */
  drop(): void {
    this.#taken.length = 0;
    this.#ips = [];
  }

  /** What the handle has already is the result. */
  hold(held: readonly string[]): void {
    this.#ips = held.slice(0, this.count);
  }

  /** Says why there are fewer than asked for. */
  note(message: string): void {
    this.#msgs.add(message);
  }

  see(block: IPAMBlock): void {
    this.#seen.set(block.metadata.name, block);
  }

  /** The host's blocks that were looked at. */
  get ownSeen(): IPAMBlock[] {
    return [...this.#seen.values()].filter(({ metadata }) => this.owned.has(metadata.name));
  }

  /** What is still to come out of the blocks that were looked at. */
  get cooling(): string | undefined {
    return coolingWords([...this.#seen.values()], this.search.cooldownSeconds, this.search.reservations);
  }

  assignments(): IPAMAssignments {
    const { version, reserved } = this.search;
    const cooling = this.short > 0 ? this.cooling : undefined;
    return {
      ips: this.#ips,
      ipVersion: version,
      numRequested: this.count,
      hostReservedAttr: reserved ?? null,
      msgs: [...this.#msgs, ...(cooling ? [cooling] : [])],
    };
  }
}

/**
 * Takes what one block has, up to what is short; where someone else writes it first, from what they left. `listed` are
 * other blocks that cover addresses of it, where the caller has listed all.
 */
export async function takeFrom(hand: Hand, loaded: LoadedBlock, listed: readonly BlockRef[] = []): Promise<void> {
  const { context, options, cooldownSeconds } = hand.search;
  let current: LoadedBlock | undefined = loaded;
  const taking = retryLostRaces(
    async () => {
      current ??= await found(loadBlock(context, rangeOf(loaded.block), cooldownSeconds, options));
      const block = current?.block;
      current = undefined;
      if (block) await takeOnce(hand, block, await othersOver(hand, block, { looked: loaded.block, listed }));
    },
    {
      what: `assigning addresses in block ${loaded.block.spec.cidr} to handle ${hand.args.handleID}`,
      ...options,
      lost: ["Conflict", "NotFound", "HandleBusy", "UnfinishedClaim"],
    },
  );
  await unlessOvercounted(taking).catch(unlessUnfinished);
}

/** A block is passed over while a claim that overlaps it stays unfinished. */
function unlessUnfinished(error: unknown): void {
  const cause = isIpamError(error, "MaxRetries") ? error.cause : undefined;
  if (!(cause instanceof TransientError) || cause.code !== "UnfinishedClaim") throw error;
}

/**
 * Other blocks that cover addresses of `block`: asked for where blocks are at hand, and where this is no longer the block that
 * was looked at.
 */
async function othersOver(
  { search: { context, options } }: Hand,
  block: IPAMBlock,
  { looked, listed }: { readonly looked: IPAMBlock; readonly listed: readonly BlockRef[] },
): Promise<readonly BlockRef[]> {
  const atHand = await overlapsAtHand(context, rangeOf(block), options);
  if (atHand) return atHand;
  if (block.metadata.uid === looked.metadata.uid) return listed;
  return (await findOverlaps(context, [block], options)).get(block.metadata.name)!;
}

async function takeOnce(hand: Hand, before: IPAMBlock, others: readonly BlockRef[]): Promise<void> {
  const { search, args } = hand;
  const { context, options, owner, config, reservations } = search;
  if (config.strictAffinity && before.spec.affinity !== affinityText(owner)) return;
  hand.see(before);
  const covered = addressesOf(await staying(search, others));
  if (covered.length > 0) {
    hand.note(`Addresses of block ${before.spec.cidr} that another block covers too are not allocated`);
    if (await mayBeWithdrawn(search, before)) return;
  }
  const { block: after, ordinals } = allocate(before, hand.short, args, withheld(reservations, covered));
  if (ordinals.length === 0) return;
  try {
    await commit(context, args, { before, after, ordinals }, options);
    hand.see(after);
    hand.take(before, ordinals);
    options.signal?.throwIfAborted();
  } catch (error) {
    if (!isIpamError(error, "MaxAllocReached")) throw error;
    hand.hold(await heldAtLimit(search, args, hand.count));
  }
}
