/** How full pools, and blocks, are. Pure: a snapshot in, rows out. */
import { blockName } from "../../api/names.ts";
import type { IPAMBlock } from "../../api/v3.ts";
import { rangeOf } from "../../ipam/block.ts";
import { disabledBecause, type Pool } from "../../ipam/pools.ts";
import { type PoolUtilization, type Utilization, uncoveredIn, utilizationOf } from "../../ipam/utilization.ts";
import { type Inventory, soundBlocks, unsoundRanges } from "../../judgement/inventory.ts";
import { formatCidr } from "../../net/cidr.ts";
import { briefCount, briefCountOf, countOf } from "../numbers.ts";
import { type Output, tableOf } from "../output.ts";
import type { Column } from "../table.ts";
import { blockValue, poolValue } from "./counts.ts";
import { reservedInUse, type Shares, sharesOf } from "./shares.ts";

/** Counts are exact; `counts.ts` says which are text in JSON. */
export interface PoolRow extends Shares {
  readonly name: string;
  readonly blockSize: number;
  /** How many blocks of it exist. */
  readonly blocks: number;
  /** Of the available addresses, how many are in no block yet. */
  readonly uncovered: bigint;
  /** Why nothing is handed out from it; absent where something is. */
  readonly closed?: string;
  readonly allowedUses: readonly string[];
  readonly nodeSelector: string;
}

export interface BlockRow extends Shares {
  /** Absent: it is in no pool. */
  readonly pool?: string;
  /** `host:<node>` or `virtual:<name>`; absent where nobody owns it. */
  readonly affinity?: string;
}

/** Pools of the name or CIDR `only`, or all; in the order of their names. */
export function poolRows(inventory: Inventory, only?: string): PoolRow[] {
  const blocks = blocksByRange(inventory);
  return utilization(inventory, only).flatMap((found) => {
    const pool = inventory.pools.find(({ name }) => name === found.name);
    return pool ? [poolRow(inventory, pool, found, blocks)] : [];
  });
}

/** Their blocks, and after them those in no pool. */
export function blockRows(inventory: Inventory, only?: string): BlockRow[] {
  const stored = blocksByRange(inventory);
  const names = new Set(inventory.pools.map(({ name }) => name));
  return utilization(inventory, only).flatMap(({ name, blocks }) =>
    blocks.map((counts) => {
      const block = stored.get(counts.cidr)!;
      const { affinity } = block.spec;
      const shares = sharesOf(counts, reservedInUse(rangeOf(block), [block], inventory.reserved));
      return { ...counts, ...shares, ...(names.has(name) && { pool: name }), ...(affinity && { affinity }) };
    }),
  );
}

type Blocks = ReadonlyMap<string, IPAMBlock>;

const blocksByRange = (inventory: Inventory): Blocks =>
  new Map(soundBlocks(inventory).map((block) => [formatCidr(rangeOf(block)), block]));

function utilization(inventory: Inventory, only: string | undefined): PoolUtilization[] {
  const wanted = only === undefined ? [] : [only];
  const { snapshot, reserved } = inventory;
  return utilizationOf(snapshot.pools, soundBlocks(inventory), reserved, wanted, unsoundRanges(inventory));
}

function poolRow(inventory: Inventory, pool: Pool, { blocks, ...counts }: PoolUtilization, stored: Blocks): PoolRow {
  const closed = disabledBecause(pool);
  const own = blocks.map(({ cidr }) => stored.get(cidr)!);
  return {
    ...counts,
    ...sharesOf(counts, reservedInUse(pool.cidr, own, inventory.reserved)),
    uncovered: uncoveredIn(pool.cidr, [...own.map(rangeOf), ...unsoundRanges(inventory)], inventory.reserved),
    blockSize: pool.blockSize,
    blocks: blocks.length,
    ...(closed && { closed }),
    allowedUses: pool.allowedUses,
    nodeSelector: pool.source.spec.nodeSelector || "all()",
  };
}

type Line = Utilization & { readonly grouping: string; readonly pool?: PoolRow; readonly affinity?: string };

const share = (header: string, count: (line: Line) => bigint, importance?: number): Column<Line> => ({
  header,
  right: true,
  value: (line) => countOf(count(line), line.capacity),
  brief: (line) => briefCountOf(count(line), line.capacity),
  ...(importance && { importance }),
});
/** Calicoctl's columns, and how many cool down. */
const COLUMNS: readonly Column<Line>[] = [
  { header: "GROUPING", importance: 1, value: ({ grouping }) => grouping },
  { header: "CIDR", value: ({ cidr }) => cidr },
  {
    header: "IPS TOTAL",
    right: true,
    importance: 4,
    value: ({ capacity }) => String(capacity),
    brief: ({ capacity }) => briefCount(capacity),
  },
  share("IPS IN USE", ({ inUse }) => inUse),
  share("COOLING DOWN", ({ inCooldown }) => inCooldown, 2),
  share("IPS RESERVED", ({ reserved }) => reserved, 3),
  share("IPS FREE", ({ available }) => available),
  { header: "NAME", name: true, value: ({ pool, affinity = "" }) => pool?.name ?? affinity },
  {
    header: "BLOCKS",
    wide: true,
    right: true,
    value: ({ pool }) => (pool ? `${pool.blocks} of /${pool.blockSize}` : ""),
  },
  { header: "USES", wide: true, value: ({ pool }) => pool?.allowedUses.join(",") ?? "" },
  { header: "NODE SELECTOR", wide: true, value: ({ pool }) => pool?.nodeSelector ?? "" },
];
const CLOSED: Column<Line> = { header: "CLOSED", importance: 5, value: ({ pool }) => pool?.closed ?? "" };

/** Whether pools are closed is a column only where one is. */
const columnsFor = (pools: readonly PoolRow[]) => (pools.some(({ closed }) => closed) ? [...COLUMNS, CLOSED] : COLUMNS);
const poolLine = (pool: PoolRow): Line => ({ ...pool, grouping: "IP Pool", pool });
const blockLine = ({ pool: _name, ...block }: BlockRow): Line => ({ ...block, grouping: "Block" });

export function poolsOutput(pools: readonly PoolRow[]): Output {
  const names = pools.map(({ name }) => `ippool/${name}`);
  return {
    kind: "PoolList",
    value: { items: pools.map(poolValue) },
    names,
    text: tableOf(pools.map(poolLine), columnsFor(pools)),
    isList: true,
  };
}

/** As calicoctl shows them: a pool, then its blocks; at the end the blocks in no pool. */
export function blocksOutput(pools: readonly PoolRow[], blocks: readonly BlockRow[]): Output {
  const ofPool = Map.groupBy(blocks, ({ pool }) => pool);
  const blocksOf = (pool: string | undefined) => (ofPool.get(pool) ?? []).map(blockLine);
  const lines = [...pools.flatMap((pool) => [poolLine(pool), ...blocksOf(pool.name)]), ...blocksOf(undefined)];
  const names = blocks.map(({ cidr }) => `ipamblock/${blockName(cidr)}`);
  return {
    kind: "BlockList",
    value: { items: blocks.map(blockValue) },
    names,
    text: tableOf(lines, columnsFor(pools)),
    isList: true,
  };
}
