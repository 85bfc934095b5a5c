/** What a call that looks for addresses knows: read once, for both families. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { AddressSet } from "../net/address-set.ts";
import type { AffinityConfig } from "./affinity.ts";
import type { IPAMConfig } from "./config.ts";
import { type Context, configFor, listPools, listReservations } from "./context.ts";
import { IpamError } from "./errors.ts";
import type { Labelled } from "./nodes.ts";
import { type IntendedUse, type Pool, poolsOf } from "./pools.ts";
import { selectsAllNodes } from "./selection.ts";

/** Who asks, and for what. */
export interface Asking {
  readonly host: string;
  readonly intendedUse: IntendedUse;
  readonly namespace?: Labelled | undefined;
}

/** What one call knows, read once for both families. */
export interface Knowledge extends Asking {
  readonly context: Context;
  readonly options: CallOptions;
  readonly owner: AffinityConfig;
  readonly config: IPAMConfig;
  readonly reservations: AddressSet;
  /** The host's node, read when it is asked for. @throws IpamError NodeNotFound */
  readonly node: () => Promise<Labelled>;
  readonly pools: readonly Pool[];
}

/** @throws IpamError IPAMConfigConflict, StrictAffinity */
export async function know(context: Context, asking: Asking, options: CallOptions): Promise<Knowledge> {
  const [config, reservations, pools] = await Promise.all([
    configFor(context, options),
    listReservations(context, options),
    listPools(context, options),
  ]);
  const node = () => readNode(context, asking, options);
  const affinityType = asking.intendedUse === "LoadBalancer" ? "virtual" : "host";
  const owner: AffinityConfig = { affinityType, host: asking.host };
  return { ...asking, context, options, owner, config, reservations, node, pools: poolsOf(pools) };
}

/** Load balancers belong to no node: nothing is read, and there are no labels. */
async function readNode(context: Context, { host, intendedUse }: Asking, options: CallOptions): Promise<Labelled> {
  const node = intendedUse === "LoadBalancer" ? {} : await context.nodes(host, options);
  if (node) return node;
  throw new IpamError("NodeNotFound", `resource does not exist: Node(${host}) with error: nodes "${host}" not found`);
}

/**
 * The node that selectors are asked about: read where there are any, and where the host has no block yet and so must be
 * shown to exist. That the host of a block exists was seen when it got its first.
 */
export async function nodeFor(
  { pools, node }: Knowledge,
  requested: readonly string[],
  hasBlocks: boolean,
): Promise<Labelled> {
  const byLabels = requested.length === 0 && pools.some(({ source }) => !selectsAllNodes(source));
  return byLabels || !hasBlocks ? node() : {};
}
