/** At which rate a pool fills up, and when it is full then. Pure; and it says what the rate rests on. */
import type { IPAMBlock } from "../../api/v3.ts";
import { rangeOf } from "../../ipam/block.ts";
import { poolAround } from "../../ipam/pools.ts";
import { type Inventory, soundBlocks } from "../../judgement/inventory.ts";
import type { PoolRow } from "../show/pools.ts";

export interface Rate {
  /**
   * `two looks`: by how much fewer were free in the second. `allocation times`: how many of the addresses that are held now
   * were allocated within the span; what was released meanwhile left no trace, so that it fills up no faster than this.
   */
  readonly basis: "two looks" | "allocation times";
  /** Seconds that were looked at. */
  readonly overSeconds: number;
  /** Addresses a day by which what is free shrinks. */
  readonly perDay: number;
  /** When nothing is free at that rate: RFC 3339. Absent where it does not shrink, or not within ten years. */
  readonly runsOutAt?: string;
}

const DAY_MS = 86_400_000;
/** Beyond this nothing is foretold: nobody plans by it. */
const FARTHEST_DAYS = 3650;

/** Undefined where no time has passed. */
export function rateOfTwoLooks(row: PoolRow, earlier: PoolRow, now: number, then: number): Rate | undefined {
  if (!(now > then)) return undefined;
  return rate("two looks", Number(earlier.available - row.available), now - then, row.available, now);
}

/** By pool: addresses that were allocated in the last so many milliseconds, and are held still. */
export function allocatedWithin(inventory: Inventory, spanMs: number): Map<string, number> {
  const since = Date.parse(inventory.snapshot.takenAt) - spanMs;
  const counts = new Map<string, number>();
  for (const block of soundBlocks(inventory)) {
    const pool = poolAround(inventory.pools, rangeOf(block))?.name;
    const count = pool === undefined ? 0 : allocatedSince(block, since);
    if (pool !== undefined && count > 0) counts.set(pool, (counts.get(pool) ?? 0) + count);
  }
  return counts;
}

function allocatedSince({ spec }: IPAMBlock, since: number): number {
  const young = spec.attributes.map(({ secondary }) => allocatedAt(secondary?.["timestamp"]) >= since);
  return spec.allocations.filter((index) => index !== null && young[index]).length;
}

/** As Calico writes it: `2026-01-02 03:04:05.678 +0000 UTC`. What is no time is long ago. */
function allocatedAt(text = ""): number {
  const [, day, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)? \+0000 UTC/.exec(text) ?? [];
  return day === undefined ? Number.NEGATIVE_INFINITY : Date.parse(`${day}T${time}Z`);
}

export function rateOfTimes(row: PoolRow, allocated: number, spanMs: number, now: number): Rate {
  return rate("allocation times", allocated, spanMs, row.available, now);
}

function rate(basis: Rate["basis"], fewer: number, spanMs: number, available: bigint, now: number): Rate {
  const perDay = (fewer * DAY_MS) / spanMs;
  const days = Number(available) / perDay;
  const known = { basis, overSeconds: Math.round(spanMs / 1000), perDay: Math.round(perDay * 10) / 10 };
  const runsOut = perDay > 0 && days <= FARTHEST_DAYS;
  return runsOut ? { ...known, runsOutAt: new Date(now + days * DAY_MS).toISOString() } : known;
}
