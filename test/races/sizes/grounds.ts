/** What rounds of the race over block sizes start from, and what happens to the pools while callers run. */
import type { BlockAffinity, IPAMBlock, IPPool } from "../../../src/api/v3.ts";
import { affinity, pool, usedBlock } from "../../support/ipam-data.ts";
import { HOSTS } from "../racing.ts";

export interface Ground {
  readonly name: string;
  /** Created in this order. */
  readonly pools: readonly IPPool[];
  /** The pool that takes the place of the only one, in turn with it, while callers run. */
  readonly recut?: { readonly to: IPPool; readonly pauseMs: number };
  readonly affinities?: readonly BlockAffinity[];
  readonly blocks?: readonly IPAMBlock[];
  /** Pools that racers draw from, in turn; otherwise every racer draws from all. */
  readonly draws?: readonly string[];
  /**
   * Every racer has all blocks at hand: a process that has not does not look again for one address of its own confirmed
   * block.
   */
  readonly cached?: boolean;
  /** The range that callers name addresses and blocks of. */
  readonly base: string;
  readonly addresses: number;
  /** Most addresses of one call. */
  readonly most: number;
}

/** Sizes that affinities, blocks and claims of a round have, whatever the pool's is. */
export const SIZES = [26, 27, 28, 29] as const;

const RANGE = { base: "10.70.0.", addresses: 128, most: 4 } as const;
const wide = pool("main", "10.70.0.0/25", { blockSize: 26 });
const narrow = pool("main", "10.70.0.0/25", { blockSize: 28 });

/** Affinities to every second range of each size, hosts in turn, every other one confirmed; no block stands behind. */
const oldAffinities = [27, 28, 29].flatMap((prefix) => {
  const size = 2 ** (32 - prefix);
  return Array.from({ length: RANGE.addresses / size / 2 }, (_, index) => {
    const state = index % 2 === 0 ? "confirmed" : "pending";
    return affinity(HOSTS[(index + prefix) % HOSTS.length]!, `${RANGE.base}${index * 2 * size}/${prefix}`, { state });
  });
});

const block = (cidr: string, host: string | undefined, used: Readonly<Record<number, string>>) => {
  const attributes = Object.entries(used).map(([ordinal, handle]) => [ordinal, { handle_id: handle, secondary: {} }]);
  const { spec, ...rest } = usedBlock(cidr, host ?? "", Object.fromEntries(attributes));
  const { affinity: _, affinityClaimTime: __, ...unowned } = spec;
  return { ...rest, spec: host ? spec : unowned };
};

/** One of a host, one that nobody owns, an empty one that was never confirmed; all of other sizes than the wide pool's. */
const oldBlocks = [
  block("10.70.0.32/28", "host-a", { 4: "old-1" }),
  block("10.70.0.64/27", undefined, { 0: "old-2", 9: "old-3" }),
  block("10.70.0.96/29", "host-c", {}),
  block("10.70.0.112/28", "host-d", { 3: "old-4" }),
];
const ownersOfOld = [
  affinity("host-a", "10.70.0.32/28"),
  affinity("host-c", "10.70.0.96/29", { state: "pending" }),
  affinity("host-d", "10.70.0.112/28"),
];
const blocksThatOverlap = [
  block("10.70.0.0/26", "host-a", { 20: "old-1" }),
  block("10.70.0.0/28", "host-b", { 1: "old-2" }),
  block("10.70.0.16/29", "host-c", { 2: "old-3" }),
];
const ownersOfThose = [
  affinity("host-a", "10.70.0.0/26"),
  affinity("host-b", "10.70.0.0/28"),
  affinity("host-c", "10.70.0.16/29", { state: "pending" }),
];
const allOld = [...ownersOfOld, ...oldAffinities];

export const GROUNDS: readonly Ground[] = [
  {
    name: "two pools overlap",
    pools: [pool("a", "10.70.0.0/24", { blockSize: 26 }), pool("b", "10.70.0.0/25", { blockSize: 28 })],
    draws: ["10.70.0.0/24", "10.70.0.0/25"],
    ...RANGE,
  },
  {
    name: "a wide and a narrow pool, each named by two hosts",
    pools: [pool("wide", "10.100.0.0/26", { blockSize: 26 }), pool("narrow", "10.100.0.0/27", { blockSize: 28 })],
    draws: ["10.100.0.0/26", "10.100.0.0/27"],
    base: "10.100.0.",
    addresses: 64,
    most: 16,
  },
  {
    name: "a pool is deleted and created with other blocks",
    pools: [wide],
    recut: { to: narrow, pauseMs: 100 },
    ...RANGE,
  },
  { name: "a pool's block size is edited", pools: [narrow], recut: { to: wide, pauseMs: 0 }, ...RANGE },
  { name: "old affinities without blocks", pools: [wide], affinities: oldAffinities, ...RANGE },
  { name: "old blocks", pools: [wide], affinities: ownersOfOld, blocks: oldBlocks, ...RANGE },
  {
    name: "old blocks that overlap",
    pools: [wide],
    affinities: ownersOfThose,
    blocks: blocksThatOverlap,
    cached: true,
    ...RANGE,
  },
  {
    name: "old affinities, old blocks, and a pool that is re-created",
    pools: [narrow],
    recut: { to: wide, pauseMs: 20 },
    affinities: allOld.filter(
      (one, index) => allOld.findIndex((other) => other.metadata.name === one.metadata.name) === index,
    ),
    blocks: oldBlocks,
    ...RANGE,
  },
];
