/** Pools as addresses are drawn from them: their defaults filled in, what is around an address, what gives none. */
import type { IPPool } from "../api/v3.ts";
import { type Address, type IpVersion, width } from "../net/address.ts";
import { type Cidr, cidrOf, contains, formatCidr, parseCidr } from "../net/cidr.ts";
import { addressFrom } from "./block.ts";
import { IpamError } from "./errors.ts";

/** What addresses are for. */
export type IntendedUse = "Workload" | "Tunnel" | "LoadBalancer";

/** A pool with its defaults filled in. */
export interface Pool {
  readonly name: string;
  readonly cidr: Cidr;
  readonly blockSize: number;
  readonly allowedUses: readonly string[];
  readonly source: IPPool;
}

export const DEFAULT_BLOCK_SIZE = { 4: 26, 6: 122 } as const;
/** Largest and smallest: larger ones do not fit into an object. */
const BLOCK_SIZES = { 4: [20, 32], 6: [116, 128] } as const;
const DEFAULT_USES = ["Workload", "Tunnel"] as const;

/** What a cache gives is the same object from call to call: it is looked at once. */
const pools = new WeakMap<IPPool, Pool | undefined>();

/** Every pool whose CIDR is one, in the order of their names. A stored CIDR with host bits is read as its masked form. */
export function poolsOf(sources: readonly IPPool[]): Pool[] {
  return sources.map(poolOf).filter((pool) => pool !== undefined);
}

function poolOf(source: IPPool): Pool | undefined {
  if (!pools.has(source)) pools.set(source, readPool(source));
  return pools.get(source);
}

function readPool(source: IPPool): Pool | undefined {
  const { blockSize, allowedUses } = source.spec;
  const cidr = parseCidr(source.spec.cidr);
  return (
    cidr && {
      name: source.metadata.name,
      cidr,
      blockSize: Math.min(blockSize || DEFAULT_BLOCK_SIZE[cidr.version], width(cidr.version)),
      allowedUses: allowedUses?.length ? allowedUses : DEFAULT_USES,
      source,
    }
  );
}

/** Why no address may come from the pool at all; undefined where one may. */
export function disabledBecause(pool: Pool): string | undefined {
  const { source } = pool;
  if (source.metadata.deletionTimestamp !== undefined) return "is being deleted";
  if (source.spec.disabled) return "is disabled";
  const allocatable = source.status?.conditions?.find(({ type }) => type === "Allocatable");
  return allocatable?.status === "False" ? `is not allocatable (${allocatable.reason})` : badlyCut(pool);
}

/** Pools are refused with such blocks; stored ones are older than the rule. */
function badlyCut({ cidr, blockSize, source }: Pool): string | undefined {
  const [largest, smallest] = BLOCK_SIZES[cidr.version];
  const asked = source.spec.blockSize || blockSize;
  if (asked < largest || asked > smallest) {
    return `has blocks of /${asked}, IPv${cidr.version} blocks are /${largest} to /${smallest}: make it anew with such blocks`;
  }
  return blockSize < cidr.prefix ? `is smaller than one of its blocks (/${blockSize})` : undefined;
}

/** Why the pools around a range give no address, a sentence each. */
export function closedAround(pools: readonly Pool[], range: Cidr): string[] {
  return pools.flatMap((pool) => {
    const because = contains(pool.cidr, range) ? disabledBecause(pool) : undefined;
    return because === undefined ? [] : [poolWords(pool, because)];
  });
}

/** A sentence about a pool. */
export const poolWords = ({ name, cidr }: Pool, because: string) => `pool "${name}" (${formatCidr(cidr)}) ${because}`;

export function isEnabled(pool: Pool): boolean {
  return disabledBecause(pool) === undefined;
}

/** The pool an address is in. */
export function poolFor(pools: readonly Pool[], address: Address): Pool | undefined {
  return poolAround(pools, cidrOf(address, width(address.version)));
}

/** The pool all of a range is in. */
export function poolAround(pools: readonly Pool[], range: Cidr): Pool | undefined {
  return pools.find(({ cidr }) => contains(cidr, range));
}

/** Refuses pools of the other family. @throws IpamError InvalidArgument */
export function checkFamily(requested: readonly string[], version: IpVersion): void {
  for (const text of requested) {
    const cidr = parseCidr(text);
    if (cidr?.version === version) continue;
    throw new IpamError(
      "InvalidArgument",
      `provided IPv${version} IPPools list contains one or more other IPs: ${text}`,
    );
  }
}

/** The enabled pool an address is in, and its block there. */
export function blockAround(
  pools: readonly Pool[],
  text: string,
): { pool: Pool; block: Cidr; address: Address } | undefined {
  const address = addressFrom(text);
  const pool = poolFor(pools, address);
  return pool && { pool, address, block: blockOf(pool, address) };
}

/** The block of a pool that an address is in. */
export function blockOf({ blockSize }: Pool, address: Address): Cidr {
  return cidrOf(address, blockSize);
}
