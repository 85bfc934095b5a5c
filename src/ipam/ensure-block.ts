/** ensureBlock: a host has a block in a family, with the addresses it needs for itself kept back. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import type { HostReservedAttr } from "./block.ts";
import { type Context, callingHost, type LoadedBlock } from "./context.ts";
import { IpamError } from "./errors.ts";
import { type Knowledge, know } from "./knowledge.ts";
import { claimNewBlock } from "./new-block.ts";
import { checkFamily } from "./pools.ts";
import { choosePoolsFor, type FamilyPools, ownBlocks, prepareSearch, type Search } from "./search.ts";

/** Which host is to have a block, and where from. */
export interface BlockArgs {
  /** Host that asks. Default: this one's name, lower-cased. */
  readonly hostname?: string | undefined;
  /** CIDRs of the IPv4 pools to draw from. Default: every automatic one that selects the node. */
  readonly ipv4Pools?: readonly string[] | undefined;
  /** The same for IPv6. */
  readonly ipv6Pools?: readonly string[] | undefined;
  /** What the IPv4 block keeps back; a family without it is not ensured. */
  readonly hostReservedAttrIPv4s?: HostReservedAttr | undefined;
  /** The same for IPv6. */
  readonly hostReservedAttrIPv6s?: HostReservedAttr | undefined;
}

/** CIDR of the block per family; null where that family was not asked for. */
export interface EnsuredBlocks {
  /** IPv4. */
  readonly v4: string | null;
  /** IPv6. */
  readonly v6: string | null;
}

export async function ensureBlock(context: Context, args: BlockArgs, options: CallOptions): Promise<EnsuredBlocks> {
  const { ipv4Pools = [], ipv6Pools = [] } = args;
  const host = callingHost(context, args.hostname);
  checkFamily(ipv4Pools, 4);
  checkFamily(ipv6Pools, 6);
  const knowledge = await know(context, { host, intendedUse: "Workload" }, options);
  const pools4 = await poolsFor(knowledge, 4, ipv4Pools, args.hostReservedAttrIPv4s);
  const pools6 = await poolsFor(knowledge, 6, ipv6Pools, args.hostReservedAttrIPv6s);
  return { v4: pools4 ? await ensureFamily(pools4) : null, v6: pools6 ? await ensureFamily(pools6) : null };
}

/** Undefined where the family is not asked for. */
async function poolsFor(
  knowledge: Knowledge,
  version: IpVersion,
  requested: readonly string[],
  reserved: HostReservedAttr | undefined,
): Promise<FamilyPools | undefined> {
  return reserved && choosePoolsFor(knowledge, { version, requested, reserved });
}

async function ensureFamily(pools: FamilyPools): Promise<string> {
  const search = await prepareSearch(pools);
  const loaded = (await firstOwnBlock(search)) ?? (await claimed(search));
  return loaded.block.spec.cidr;
}

/** A full block is as good as any: it is there. */
async function firstOwnBlock(search: Search): Promise<LoadedBlock | undefined> {
  for await (const [, loaded] of ownBlocks(search)) {
    if (loaded) return loaded;
  }
  return undefined;
}

async function claimed(search: Search): Promise<LoadedBlock> {
  if (!search.config.autoAllocateBlocks) throw new IpamError("NoClaimAllowed", "failed to find or claim a block");
  const details = [`every block of the pools that host ${search.host} may use is claimed`];
  const [block] = await claimNewBlock(search, new Set(), (message) => details.push(message));
  if (block) return block;
  throw new IpamError("NoFreeBlocks", "No Free Blocks", { details });
}
