/** A large cluster's data, an object after the other: blocks of 64 addresses with 50 in use, a handle and a pod for each. */
import type { BlockAffinity, IPAMBlock, IPAMHandle, IPPool } from "../src/api/v3.ts";
import { addressAt } from "../src/ipam/block.ts";
import type { NodeFacts, PodFacts } from "../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../src/judgement/snapshot.ts";
import { formatAddress } from "../src/net/address.ts";
import { type Cidr, formatCidr, parseCidr } from "../src/net/cidr.ts";
import { affinity, handle, pool, usedBlock } from "../test/support/ipam-data.ts";

export const USED_PER_BLOCK = 50;
const BLOCKS_PER_NODE = 4;
const FIRST = parseCidr("10.0.0.0/26")!;
const STORED = "2026-01-02 03:04:05 +0000 UTC";

export const bigPool: IPPool = pool("pods", "10.0.0.0/8");

const rangeAt = (index: number): Cidr => ({ ...FIRST, base: FIRST.base + BigInt(index) * 64n });
const nodeAt = (index: number) => `node-${String(Math.floor(index / BLOCKS_PER_NODE)).padStart(5, "0")}`;
const podAt = (index: number, ordinal: number) => `pod-${index}-${ordinal}`;
const ordinals = Array.from({ length: USED_PER_BLOCK }, (_, ordinal) => ordinal);

export function blockAt(index: number): IPAMBlock {
  const node = nodeAt(index);
  const entries = ordinals.map((ordinal) => {
    const secondary = { namespace: "shop", pod: podAt(index, ordinal), node, timestamp: STORED };
    return [ordinal, { handle_id: `k8s-pod-network.${podAt(index, ordinal)}`, secondary }] as const;
  });
  return usedBlock(formatCidr(rangeAt(index)), node, Object.fromEntries(entries));
}

export const affinityAt = (index: number): BlockAffinity => affinity(nodeAt(index), formatCidr(rangeAt(index)));

export function handlesAt(index: number): IPAMHandle[] {
  const cidr = formatCidr(rangeAt(index));
  return ordinals.map((ordinal) => handle(`k8s-pod-network.${podAt(index, ordinal)}`, { [cidr]: 1 }));
}

function podsAt(index: number): PodFacts[] {
  const [range, node] = [rangeAt(index), nodeAt(index)];
  return ordinals.map((ordinal) => {
    const name = podAt(index, ordinal);
    const addresses = [formatAddress(addressAt(range, ordinal))];
    const known = { namespace: "shop", name, uid: `uid-${name}`, phase: "Running", createdAt: "2026-01-02T03:04:00Z" };
    return { ...known, node, addresses };
  });
}

/** As a bundle holds it. */
export function bigSnapshot(blocks: number): Snapshot {
  const all = Array.from({ length: blocks }, (_, index) => index);
  const nodes = [...new Set(all.map(nodeAt))].map((name): NodeFacts => {
    return { name, labels: {}, tunnels: {}, windows: false, podCapacity: 250 };
  });
  return {
    ...emptySnapshot("2026-01-02T12:00:00.000Z"),
    pools: [bigPool],
    blocks: all.map(blockAt),
    affinities: all.map(affinityAt),
    handles: all.flatMap(handlesAt),
    nodes,
    pods: all.flatMap(podsAt),
    services: [],
  };
}
