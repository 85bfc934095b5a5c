/**
 * Which of overlapping pools allocates. Calico's pool controller accepts pools one after the other and refuses one that
 * overlaps a pool accepted before; callers that cannot wait for its condition decide by the same order. Pure.
 */
import type { IPPool } from "../api/v3.ts";
import type { Cidr } from "../net/cidr.ts";
import { CidrIndex } from "../net/cidr-index.ts";

/** What the order needs of a pool. */
interface Ordered {
  readonly cidr: Cidr;
  readonly source: IPPool;
}

/** The accepted pool that each refused one overlaps. A disabled pool is neither accepted nor refused. */
export function overlapWinners<P extends Ordered>(pools: readonly P[]): Map<P, P> {
  const winners = new Map<P, P>();
  const accepted = new CidrIndex<P>();
  for (const pool of pools.filter(({ source }) => !source.spec.disabled).sort(byAcceptance)) {
    const [winner] = accepted.overlapping(pool.cidr).sort(byAcceptance);
    if (winner) winners.set(pool, winner);
    else accepted.add(pool.cidr, pool);
  }
  return winners;
}

/** The Allocatable condition of a pool, where Calico's controller has set it. */
export function allocatableCondition({ status }: IPPool) {
  return status?.conditions?.find(({ type }) => type === "Allocatable");
}

/** Sorts pools as Calico's controller walks them. */
export function byAcceptance({ source: a }: Ordered, { source: b }: Ordered): number {
  return rank(a) - rank(b) || byText(createdAt(a), createdAt(b)) || byText(a.metadata.name, b.metadata.name);
}

/** Allocatable pools first, then those being deleted, then those that are not allocatable, then new ones. */
function rank(pool: IPPool): number {
  if (pool.metadata.deletionTimestamp !== undefined) return 1;
  const status = allocatableCondition(pool)?.status;
  if (status === "True") return 0;
  return status === "False" ? 2 : 3;
}

/** RFC 3339 in UTC with whole seconds: texts compare as times do. */
const createdAt = ({ metadata }: IPPool) => metadata.creationTimestamp ?? "";

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
