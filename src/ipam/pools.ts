/** Which pools a request may draw from, and for each other pool why not. Pure: pools and labels in, a choice out. */
import { parseSelector, type Selector } from "../api/selector.ts";
import type { Labels } from "../api/selector-node.ts";
import type { IPPool } from "../api/v3.ts";
import { type Address, type IpVersion, width } from "../net/address.ts";
import { type Cidr, cidrOf, contains, formatCidr, parseCidr } from "../net/cidr.ts";
import { addressFrom, type HostReservedAttr } from "./block.ts";
import { IpamError } from "./errors.ts";
import { type Labelled, nodeLabels } from "./nodes.ts";

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

const DEFAULT_BLOCK_SIZE = { 4: 26, 6: 122 } as const;
/** Largest and smallest: larger ones do not fit into an object. */
const BLOCK_SIZES = { 4: [20, 32], 6: [116, 128] } as const;
const DEFAULT_USES = ["Workload", "Tunnel"] as const;

/** Every pool whose CIDR is one, in the order of their names. A stored CIDR with host bits is read as its masked form. */
export function poolsOf(sources: readonly IPPool[]): Pool[] {
  return sources.flatMap((source) => {
    const cidr = parseCidr(source.spec.cidr);
    return cidr ? [poolOf(source, cidr)] : [];
  });
}

function poolOf(source: IPPool, cidr: Cidr): Pool {
  const { blockSize, allowedUses } = source.spec;
  return {
    name: source.metadata.name,
    cidr,
    blockSize: Math.min(blockSize || DEFAULT_BLOCK_SIZE[cidr.version], width(cidr.version)),
    allowedUses: allowedUses?.length ? allowedUses : DEFAULT_USES,
    source,
  };
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

const poolWords = ({ name, cidr }: Pool, because: string) => `pool "${name}" (${formatCidr(cidr)}) ${because}`;

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

/** Whether a pool's nodeSelector selects the node. @throws SelectorError */
export function selectsNode(pool: IPPool, node: Labelled): boolean {
  return matches(pool.spec.nodeSelector, nodeLabels(node));
}

/** Whether a pool's namespaceSelector selects the namespace; one that is not known has no labels. @throws SelectorError */
export function selectsNamespace(pool: IPPool, namespace: Labelled | undefined): boolean {
  return matches(pool.spec.namespaceSelector, namespace?.metadata?.labels ?? {});
}

const parsed = new Map<string, Selector>();
const MOST_PARSED = 1024;

const isAll = (text: string | undefined): text is "" | undefined => !text || text === "all()";

/** Whether a pool is for every node, so that none need be read. */
export function selectsAllNodes(pool: IPPool): boolean {
  return isAll(pool.spec.nodeSelector);
}

/** Selectors are few and asked often: each is parsed once, and the most frequent ones not at all. */
function matches(text: string | undefined, labels: Labels): boolean {
  if (isAll(text)) return true;
  let selector = parsed.get(text);
  if (!selector) {
    if (parsed.size >= MOST_PARSED) parsed.clear();
    selector = parseSelector(text);
    parsed.set(text, selector);
  }
  return selector.matches(labels);
}

/** The longest block prefix at which the host's reserve leaves room. @throws IpamError InvalidArgument */
export function maxPrefixLength(version: IpVersion, reserved: HostReservedAttr | undefined): number {
  if (reserved === undefined) return width(version);
  const count = reserved.startOfBlock + reserved.endOfBlock;
  if (!(count > 0)) throw new IpamError("InvalidArgument", "HostReservedAttr has wrong parameters");
  return width(version) - count.toString(2).length;
}

/** What a choice of pools depends on. */
export interface PoolQuery {
  readonly version: IpVersion;
  /** CIDRs of the pools asked for; empty: every automatic one. */
  readonly requested: readonly string[];
  readonly host: string;
  readonly node: Labelled;
  readonly namespace?: Labelled | undefined;
  readonly use: string;
  readonly reserved?: HostReservedAttr | undefined;
}

export interface PoolChoice {
  /** Pools that select the node, or that were asked for. */
  readonly selected: readonly Pool[];
  /** Those of them that allow the use. */
  readonly usable: readonly Pool[];
}

/** @throws IpamError NoQualifiedPool with `details` per pool, PoolNotEnabled, InvalidArgument; SelectorError */
export function choosePools(pools: readonly Pool[], query: PoolQuery): PoolChoice {
  const family = pools.filter(({ cidr }) => cidr.version === query.version);
  const longest = maxPrefixLength(query.version, query.reserved);
  const passedOver: string[] = [];
  const keep = (candidates: readonly Pool[], reason: (pool: Pool) => string | undefined) =>
    candidates.filter((pool) => {
      const because = reason(pool);
      if (because !== undefined) passedOver.push(poolWords(pool, because));
      return because === undefined;
    });

  const enabled = keep(family, (pool) => disabledBecause(pool) ?? tooSmall(pool, longest));
  if (enabled.length === 0) throw noPool("cannot find a qualified ippool", passedOver);
  const asked = query.requested.map((cidr) => requestedPool(enabled, cidr, passedOver));
  const selected = asked.length > 0 ? asked : keep(enabled, (pool) => notSelected(pool, query));
  if (selected.length === 0) throw noPool(`no configured Calico pools for node ${query.host}`, passedOver);
  const usable = keep(selected, (pool) => notForUse(pool, query.use));
  if (usable.length > 0) return { selected, usable };
  const message = `cannot find a qualified ippool: no pools match the required use (${query.use})`;
  throw noPool(message, passedOver);
}

function noPool(message: string, details: readonly string[]): IpamError {
  return new IpamError("NoQualifiedPool", message, { details });
}

function tooSmall({ blockSize }: Pool, longest: number): string | undefined {
  return blockSize > longest ? `has blocks of /${blockSize}, which the host's reserve would fill` : undefined;
}

function requestedPool(enabled: readonly Pool[], text: string, details: readonly string[]): Pool {
  const cidr = parseCidr(text);
  const wanted = cidr && formatCidr(cidr);
  const pool = enabled.find((candidate) => formatCidr(candidate.cidr) === wanted);
  if (pool) return pool;
  const message = `the given pool (${wanted ?? text}) does not exist, or is not enabled`;
  throw new IpamError("PoolNotEnabled", message, { details });
}

function notSelected({ source }: Pool, { node, namespace, host }: PoolQuery): string | undefined {
  const { assignmentMode = "Automatic", nodeSelector, namespaceSelector } = source.spec;
  if (assignmentMode !== "Automatic") return "is Manual: only drawn from when asked for";
  if (!selectsNode(source, node)) return `does not select node ${host} (nodeSelector: ${nodeSelector})`;
  return selectsNamespace(source, namespace)
    ? undefined
    : `does not select the namespace (namespaceSelector: ${namespaceSelector})`;
}

function notForUse({ allowedUses }: Pool, use: string): string | undefined {
  return allowedUses.includes(use) ? undefined : `does not allow use ${use} (allowedUses: ${allowedUses.join(", ")})`;
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
