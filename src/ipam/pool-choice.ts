/** Which pools a request may draw from, and for each other pool why not. Pure: pools and labels in, a choice out. */
import { type IpVersion, width } from "../net/address.ts";
import { formatCidr, isSameRange, parseCidr } from "../net/cidr.ts";
import type { HostReservedAttr } from "./block.ts";
import { IpamError } from "./errors.ts";
import type { Labelled } from "./nodes.ts";
import { byAcceptance } from "./pool-order.ts";
import { disabledBecause, type Pool, poolWords } from "./pools.ts";
import { selectionOf, selectorProblem, selectsNamespace } from "./selection.ts";

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
  /** Of each pool that nobody can tell whom it selects: why. Nothing is allocated from it. */
  readonly malformed: readonly IpamError[];
}

/**
 * @throws IpamError NoQualifiedPool with `details` per pool, PoolNotEnabled, InvalidArgument; MalformedObject where only
 * malformed pools might be meant
 */
export function choosePools(pools: readonly Pool[], query: PoolQuery): PoolChoice {
  const family = pools.filter(({ cidr }) => cidr.version === query.version);
  const longest = maxPrefixLength(query.version, query.reserved);
  const passedOver: PassedOver[] = [];
  const keep = (candidates: readonly Pool[], reason: (pool: Pool) => string | undefined) =>
    candidates.filter((pool) => {
      const because = reason(pool);
      if (because !== undefined) passedOver.push({ pool, because });
      return because === undefined;
    });

  const enabled = keep(family, (pool) => disabledBecause(pool) ?? tooSmall(pool, longest)).sort(byAcceptance);
  if (enabled.length === 0) throw noPool("cannot find a qualified ippool", passedOver);
  const asked = new Set(query.requested.map((cidr) => requestedPool(enabled, cidr, passedOver)));
  const malformed = asked.size > 0 ? [] : enabled.flatMap(({ source }) => selectorProblem(source) ?? []);
  const readable = malformed.length > 0 ? enabled.filter(({ source }) => !selectorProblem(source)) : enabled;
  const selected = asked.size > 0 ? [...asked] : keep(readable, notSelectedBy(query));
  if (selected.length === 0 && malformed[0]) throw malformed[0];
  if (selected.length === 0) throw noPool(`no configured Calico pools for node ${query.host}`, passedOver);
  const usable = keep(selected, (pool) => notForUse(pool, query.use));
  if (usable.length > 0) return { selected, usable, malformed };
  const message = `cannot find a qualified ippool, no pools match the required use (${query.use})`;
  throw noPool(message, passedOver);
}

interface PassedOver {
  readonly pool: Pool;
  readonly because: string;
}

function noPool(message: string, passedOver: readonly PassedOver[]): IpamError {
  return new IpamError("NoQualifiedPool", message, { details: passedOver.map(words) });
}

const words = ({ pool, because }: PassedOver) => poolWords(pool, because);

function tooSmall({ blockSize }: Pool, longest: number): string | undefined {
  return blockSize > longest ? `has blocks of /${blockSize}, which the host's reserve would fill` : undefined;
}

function requestedPool(enabled: readonly Pool[], text: string, passedOver: readonly PassedOver[]): Pool {
  const wanted = parseCidr(text);
  const pool = wanted && enabled.find(({ cidr }) => isSameRange(cidr, wanted));
  if (pool) return pool;
  const message = `the given pool (${wanted ? formatCidr(wanted) : text}) does not exist, or is not enabled`;
  throw new IpamError("PoolNotEnabled", message, { details: passedOver.map(words) });
}

/** Why a pool that was not asked for is none for the request. */
function notSelectedBy({ node, namespace, host }: PoolQuery): (pool: Pool) => string | undefined {
  const selects = selectionOf(node);
  return ({ source }) => {
    const { assignmentMode = "Automatic", nodeSelector, namespaceSelector } = source.spec;
    if (assignmentMode !== "Automatic") return "is Manual: only drawn from when asked for";
    if (!selects(source)) return `does not select node ${host} (nodeSelector: ${nodeSelector})`;
    if (selectsNamespace(source, namespace)) return undefined;
    return `does not select the namespace (namespaceSelector: ${namespaceSelector})`;
  };
}

function notForUse({ allowedUses }: Pool, use: string): string | undefined {
  return allowedUses.includes(use) ? undefined : `does not allow use ${use} (allowedUses: ${allowedUses.join(", ")})`;
}
