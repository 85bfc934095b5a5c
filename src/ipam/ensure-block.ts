/** ensureBlock: a host has a block in a family, with the addresses it needs for itself kept back. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import type { HostReservedAttr } from "./block.ts";
import { type Context, callingHost, type LoadedBlock } from "./context.ts";
import { IpamError } from "./errors.ts";
import { type Knowledge, know } from "./knowledge.ts";
import { claimNewBlock } from "./new-block.ts";
import { checkFamily } from "./pools.ts";
import { ownBlocks, prepareSearch, type Search } from "./search.ts";

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
  const v4 = await ensureFamily(knowledge, 4, ipv4Pools, args.hostReservedAttrIPv4s);
  const v6 = await ensureFamily(knowledge, 6, ipv6Pools, args.hostReservedAttrIPv6s);
  return { v4, v6 };
}

async function ensureFamily(
  knowledge: Knowledge,
  version: IpVersion,
  requested: readonly string[],
  reserved: HostReservedAttr | undefined,
): Promise<string | null> {
  if (reserved === undefined) return null;
  const search = await prepareSearch(knowledge, { version, requested, reserved });
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
  const [block] = await claimNewBlock(search, new Set());
  if (block) return block;
  throw new IpamError("NoFreeBlocks", `every block of the pools that host ${search.host} may use has an owner`);
}
