/** Who asks for an address: a pod, or the next one on a node. */
import { isCalled } from "../../ipam/pools.ts";
import type { IpVersion } from "../../net/address.ts";
import { formatCidr, parseCidr } from "../../net/cidr.ts";
import type { PodFacts } from "../facts.ts";
import type { Inventory } from "../inventory.ts";

export interface Asking {
  readonly host: string;
  readonly namespace?: string | undefined;
  /** By name or CIDR; undefined: every pool that selects node and namespace. */
  readonly askedPools?: readonly string[] | undefined;
}

/** A pod's own annotation wins over its namespace's. */
export function askingFor({ snapshot }: Inventory, pod: PodFacts, host: string): Asking {
  const namespace = snapshot.namespaces?.find(({ name }) => name === pod.namespace);
  return { host, namespace: pod.namespace, askedPools: pod.askedPools ?? namespace?.askedPools };
}

export function nextOn({ snapshot }: Inventory, host: string, namespace: string | undefined): Asking {
  const { askedPools } = snapshot.namespaces?.find(({ name }) => name === namespace) ?? {};
  return { host, namespace, askedPools };
}

/**
 * Which families pods get an address of: those that running pods have. Where none has any, those that pools are for.
 * How the CNI plugin is configured stands on the nodes, and cannot be looked at.
 */
export function familiesOf({ snapshot, pools }: Inventory): IpVersion[] {
  const used = new Set((snapshot.pods ?? []).flatMap(({ addresses }) => addresses.map(versionOf)));
  if (used.size > 0) return [...used].sort();
  const offered = new Set(
    pools.filter(({ allowedUses }) => allowedUses.includes("Workload")).map(({ cidr }) => cidr.version),
  );
  return offered.size > 0 ? [...offered].sort() : [4];
}

export const versionOf = (address: string): IpVersion => (address.includes(":") ? 6 : 4);

/** The CIDRs that were asked for of a family; a name that no pool has is handed on as it is, and found missing. */
export function requestedPools({ pools }: Inventory, { askedPools = [] }: Asking, version: IpVersion): string[] {
  return askedPools.flatMap((asked) => {
    const pool = pools.find((pool) => isCalled(pool, asked));
    const family = pool?.cidr.version ?? parseCidr(asked)?.version ?? 4;
    return family === version ? [pool ? formatCidr(pool.cidr) : asked] : [];
  });
}
