/** What a call that looks for addresses knows: read once, for both families. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { AddressSet } from "../net/address-set.ts";
import type { AffinityConfig } from "./affinity.ts";
import type { IPAMConfig } from "./config.ts";
import { type Context, configFor, listPools, listReservations } from "./context.ts";
import { IpamError } from "./errors.ts";
import type { Labelled } from "./nodes.ts";
import { type IntendedUse, type Pool, poolsOf } from "./pools.ts";

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
  readonly node: Labelled;
  readonly pools: readonly Pool[];
}

/** @throws IpamError NodeNotFound, IPAMConfigConflict, StrictAffinity */
export async function know(context: Context, asking: Asking, options: CallOptions): Promise<Knowledge> {
  const [config, reservations, node, pools] = await Promise.all([
    configFor(context, options),
    listReservations(context, options),
    readNode(context, asking, options),
    listPools(context, options),
  ]);
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
