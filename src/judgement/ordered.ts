/** A snapshot in the order in which people read it; every screen, and every list for programs, keeps that order. */
import { type Cidr, parseCidr } from "../net/cidr.ts";
import { byNumbers, byRange, sortedByNumbers } from "../net/order.ts";
import type { Snapshot } from "./snapshot.ts";

interface Named {
  readonly metadata: { readonly name: string };
}
interface Ranged extends Named {
  readonly spec: { readonly cidr: string };
}
interface Fact {
  readonly namespace?: string;
  readonly name: string;
}

/** Objects by name, blocks by range, affinities by node and range, what has a namespace by that first. */
export function ordered(snapshot: Snapshot): Snapshot {
  const { pools, reservations, configurations, handles, blocks, affinities } = snapshot;
  const { nodes, namespaces, pods, vms, services } = snapshot;
  return {
    ...snapshot,
    pools: byName(pools),
    reservations: byName(reservations),
    configurations: byName(configurations),
    handles: byName(handles),
    blocks: rangesInOrder(blocks),
    affinities: rangesInOrder(affinities).sort((a, b) => byNumbers(a.spec.node, b.spec.node)),
    ...(nodes && { nodes: factsInOrder(nodes) }),
    ...(namespaces && { namespaces: factsInOrder(namespaces) }),
    ...(pods && { pods: factsInOrder(pods) }),
    ...(vms && { vms: factsInOrder(vms) }),
    ...(services && { services: factsInOrder(services) }),
  };
}

const byName = <T extends Named>(objects: readonly T[]) => sortedByNumbers(objects, ({ metadata }) => metadata.name);

/** No name has a slash. */
const factsInOrder = <T extends Fact>(facts: readonly T[]) =>
  sortedByNumbers(facts, ({ namespace = "", name }) => `${namespace}/${name}`);

/** Each range is read once; objects whose range cannot be read come last. */
function rangesInOrder<T extends Ranged>(objects: readonly T[]): T[] {
  const read = byName(objects).map((object) => ({ object, range: parseCidr(object.spec.cidr) }));
  return read.sort((a, b) => byRangeRead(a.range, b.range)).map(({ object }) => object);
}

function byRangeRead(a: Cidr | undefined, b: Cidr | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return byRange(a, b);
}
