/** What a racer over block sizes does: each way to create, confirm, use and give up a block. */
import { WINDOWS_RESERVED_HANDLE } from "../../../src/api/names.ts";
import { isDatastoreError } from "../../../src/datastore/datastore.ts";
import { type AutoAssignResult, partialResult } from "../../../src/ipam/assignments.ts";
import { isIpamError } from "../../../src/ipam/errors.ts";
import { recover } from "../address-moves.ts";
import { below, pick, type Racing } from "../racing.ts";
import { SIZES } from "./grounds.ts";
import type { Round } from "./round.ts";

type Move = (racing: Racing, round: Round) => Promise<void>;
/** What calls may end in here: the pool is gone, the range is another's, the hosts' blocks are full. */
const ANSWERS = [
  "AffinityMismatch",
  "AlreadyExists",
  "BlockNotEmpty",
  "BlockOverlap",
  "InvalidSize",
  "NoFreeBlocks",
  "NoQualifiedPool",
  "NotInPool",
  "PoolNotEnabled",
] as const;
/** An unfinished claim in the way is waited for; a call may give up before it is old enough to be released. */
const GIVEN_UP = "MaxRetries";

const gave = (result: AutoAssignResult | undefined) => [...(result?.v4?.ips ?? []), ...(result?.v6?.ips ?? [])];

/** `call` gives the addresses, with their block's prefix length where it is known. */
async function take(racing: Racing, by: string, call: (handleID: string) => Promise<readonly string[]>): Promise<void> {
  const handle = racing.newName("pod");
  racing.note("taking", handle, { by });
  const masked = await call(handle);
  const ips = masked.map((ip) => ip.split("/")[0]!);
  racing.note("got", handle, { ips, masked });
  if (ips.length > 0) racing.held.set(handle, ips);
}

const autoAssign: Move = (racing, { draws, most }) =>
  take(racing, "autoAssign", async (handleID) => {
    const args = { num4: 1 + below(most), handleID, intendedUse: "Workload" } as const;
    try {
      return gave(await racing.ipam.autoAssign({ ...args, ...(draws && { ipv4Pools: [draws] }) }));
    } catch (error) {
      return answered(racing, error) ? gave(partialResult(error)) : [];
    }
  });

const assignIP: Move = (racing, { base, addresses }) =>
  take(racing, "assignIP", async (handleID) => {
    const ip = `${base}${below(addresses)}`;
    try {
      await racing.ipam.assignIP({ ip, handleID });
      return [ip];
    } catch (error) {
      answered(racing, error);
      return [];
    }
  });

async function release(racing: Racing): Promise<void> {
  const [handle, ips] = pick([...racing.held]);
  racing.held.delete(handle);
  racing.note("releasing", handle, { ips });
  await racing.ipam.releaseByHandle(handle);
  racing.note("released", handle, { ips });
}

const aRange = ({ base, addresses }: Round) => {
  const prefix = pick(SIZES);
  const size = 2 ** (32 - prefix);
  return `${base}${size * below(addresses / size)}/${prefix}`;
};
const owner = ({ options: { host } }: Racing) => ({ affinityType: "host", host }) as const;

const ensureBlock: Move = (racing, { draws }) => {
  const hostReservedAttrIPv4s = { startOfBlock: 0, endOfBlock: 1, handle: WINDOWS_RESERVED_HANDLE, note: "race" };
  return aboutBlocks(racing, () =>
    racing.ipam.ensureBlock({ hostReservedAttrIPv4s, ...(draws && { ipv4Pools: [draws] }) }),
  );
};
const claimAffinity: Move = (racing, round) =>
  aboutBlocks(racing, () => racing.ipam.claimAffinity(aRange(round), owner(racing)));
const releaseAffinity: Move = (racing, round) =>
  aboutBlocks(racing, () => racing.ipam.releaseAffinity(aRange(round), racing.options.host, Math.random() < 0.5));
const releaseAll: Move = (racing) =>
  aboutBlocks(racing, () => racing.ipam.releaseHostAffinities(owner(racing), Math.random() < 0.5));

async function aboutBlocks(racing: Racing, call: () => Promise<unknown>): Promise<void> {
  racing.note("claiming", "");
  await call().catch((error: unknown) => answered(racing, error));
}

/** Writes down a call that gave up. @throws the error itself where no call may end in it */
function answered(racing: Racing, error: unknown): boolean {
  if (isIpamError(error, GIVEN_UP)) racing.note("gaveUp", "", { error: [error.message, ...error.details].join("; ") });
  else if (!isIpamError(error, ...ANSWERS)) throw error;
  return true;
}

const toggleStrict = (racing: Racing) => {
  const strictAffinity = racing.values.get("strictAffinity") !== "true";
  return racing.change("strictAffinity", `${strictAffinity}`, () =>
    racing.ipam.setIPAMConfig({ strictAffinity }).catch((error: unknown) => {
      if (!isDatastoreError(error, "Conflict")) throw error;
    }),
  );
};

const WEIGHTS: readonly (readonly [number, Move])[] = [
  [44, autoAssign],
  [14, assignIP],
  [8, ensureBlock],
  [12, claimAffinity],
  [8, releaseAffinity],
  [6, releaseAll],
];
const MOVES = WEIGHTS.flatMap(([weight, make]) => Array<Move>(weight).fill(make));
const MOST_HELD = 5;

/** Makes one move; an error that none may end in is written down. */
export async function move(racing: Racing, round: Round, made: number): Promise<void> {
  try {
    await nextOf(racing, round, made);
  } catch (error) {
    racing.note("failed", "", { error: `${(error as Error).stack}` });
  }
}

async function nextOf(racing: Racing, round: Round, made: number): Promise<void> {
  const [cutOff] = racing.cutOff;
  if (cutOff !== undefined) return recover(racing, cutOff);
  if (made === 0) return autoAssign(racing, round); // all at once
  if (round.toggles && Math.random() < 0.2) return toggleStrict(racing);
  if (racing.held.size > 0 && Math.random() < racing.held.size / MOST_HELD) return release(racing);
  return pick(MOVES)(racing, round);
}
