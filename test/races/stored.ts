/** What a race leaves in the store. */
import { expect } from "vitest";
import type { IpamKind } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { addressAt } from "../../src/ipam/block.ts";
import { formatAddress } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/cidr.ts";
import type { ListedObjects } from "../invariants/check.ts";
import { HOSTS } from "./racing.ts";

/** Everything there is, for the invariants; none of it unreadable. */
export async function storedObjects(datastore: Datastore): Promise<ListedObjects> {
  const list = async <K extends IpamKind>(kind: K) => {
    const { items, malformed } = await datastore.list(kind);
    expect(malformed).toEqual([]);
    return items;
  };
  return {
    blocks: await list("IPAMBlock"),
    affinities: await list("BlockAffinity"),
    handles: await list("IPAMHandle"),
    pools: await list("IPPool"),
    configurations: await list("IPAMConfiguration"),
    reservations: await list("IPReservation"),
    nodes: HOSTS.map((name) => ({ name })),
  };
}

/** An allocated address: its handle, and of a VM's its pod. */
export interface Allocation {
  readonly handle: string | undefined;
  readonly pod: string | undefined;
}

/** Every address that is somebody's; those cooling down are nobody's. */
export function allocationsIn({ blocks }: Pick<ListedObjects, "blocks">): Map<string, Allocation> {
  const entries = blocks.flatMap(({ spec }) => {
    const range = parseCidr(spec.cidr)!;
    return spec.allocations.flatMap((index, ordinal) => {
      const attribute = index === null ? undefined : spec.attributes[index];
      if (attribute === undefined || attribute.releasedAt) return [];
      const allocation = { handle: attribute.handle_id, pod: attribute.secondary?.["pod"] };
      return [[formatAddress(addressAt(range, ordinal)), allocation] as const];
    });
  });
  return new Map(entries);
}

/** What racers change outside of blocks, by the names it has in their journals. */
export function valuesIn({ configurations, reservations }: ListedObjects): Map<string, string> {
  const { strictAffinity = false, ipCooldownSeconds = 0 } = configurations[0]?.spec ?? {};
  return new Map([
    ["strictAffinity", `${strictAffinity}`],
    ["ipCooldownSeconds", `${ipCooldownSeconds}`],
    ...reservations.map(
      ({ metadata, spec }) => [`reservation ${metadata.name}`, spec.reservedCIDRs!.join(" ")] as const,
    ),
  ]);
}
