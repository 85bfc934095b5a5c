/** Objects whose range cannot be read are as good as not there: they are named, and stop nothing else from being read. */
import { objectIn } from "../api/kind-names.ts";
import { parseCidr } from "../net/cidr.ts";
import type { Malformed, Snapshot } from "./snapshot.ts";

interface Ranged {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly cidr: string };
}

const isReadable = ({ spec }: Ranged) => parseCidr(spec.cidr) !== undefined;

/** The snapshot with blocks, affinities and pools without a range among the objects that cannot be read. */
export function readable(snapshot: Snapshot): Snapshot {
  const { blocks, affinities, pools, malformed } = snapshot;
  const without = [...blocks, ...affinities, ...pools].filter((object) => !isReadable(object));
  if (without.length === 0) return snapshot;
  return {
    ...snapshot,
    blocks: blocks.filter(isReadable),
    affinities: affinities.filter(isReadable),
    pools: pools.filter(isReadable),
    malformed: [...malformed, ...without.map(unreadable)],
  };
}

const unreadable = ({ kind, metadata, spec }: Ranged): Malformed => ({
  kind,
  name: metadata.name,
  reason: `spec.cidr "${spec.cidr}" is not an IPv4 or IPv6 range`,
});

/** A sentence about an object that cannot be read. */
export function malformedText({ datastore }: Snapshot, { kind, name, reason }: Malformed): string {
  return `${objectIn(datastore, kind, name)} cannot be read: ${reason}`;
}
