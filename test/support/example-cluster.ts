/**
 * The cluster of the documentation: three workers that are strict about their blocks, and a fourth that is gone. It has
 * borrowed, leaked and cooling addresses, a reservation, a Service, both families, and a pod that gets no address.
 */
import { affinityLabels, affinityName, loadBalancerHandle, tunnelHandle } from "../../src/api/names.ts";
import type { AllocationAttribute, BlockAffinity, IPAMBlock } from "../../src/api/v3.ts";
import type { NodeFacts, PodFacts } from "../../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, handle, pool, reservation, usedBlock } from "./ipam-data.ts";

/** When the examples are run. */
export const EXAMPLE_NOW = new Date("2026-01-02T12:00:00Z");

const hour = (n: number) => String(n % 12).padStart(2, "0");

const ofPod = (node: string, namespace: string, pod: string, at = 3): AllocationAttribute => ({
  handle_id: `k8s-pod-network.${pod}`,
  secondary: { namespace, pod, node, timestamp: `2026-01-02 ${hour(at)}:04:05 +0000 UTC` },
});
const ofTunnel = (node: string): AllocationAttribute => ({
  handle_id: tunnelHandle("vxlan", node),
  secondary: { node, type: "vxlanTunnelAddress" },
});
const ofService = (name: string): AllocationAttribute => ({
  handle_id: loadBalancerHandle(name, "shop", `uid-${name}`),
  secondary: { service: name, namespace: "shop", type: "LoadBalancer" },
});
const cooling = (at: string): AllocationAttribute => ({ releasedAt: `2026-01-02T${at}Z` });

/** `first` and the following numbers, each with a pod of its own. */
const pods = (node: string, name: string, ordinals: readonly number[]) =>
  Object.fromEntries(ordinals.map((ordinal, at) => [ordinal, ofPod(node, "shop", `${name}-${at}`, ordinal)]));

const blocks: readonly IPAMBlock[] = [
  usedBlock("10.244.0.0/29", "worker-1", { 0: ofTunnel("worker-1"), ...pods("worker-1", "web", [1, 2, 3]) }),
  usedBlock("10.244.0.8/29", "worker-2", {
    0: ofTunnel("worker-2"),
    ...pods("worker-2", "cart", [1, 2, 3, 4]),
    5: ofPod("worker-2", "shop", "migrate-x7k2p"),
    6: ofPod("worker-2", "shop", "migrate-q9d4v"),
    7: cooling("11:57:00"),
  }),
  usedBlock("10.244.0.16/29", "worker-2", pods("worker-2", "search", [0, 1, 2, 3, 4, 5, 6, 7])),
  usedBlock("10.244.0.24/29", "worker-3", {
    0: ofTunnel("worker-3"),
    1: ofPod("worker-3", "billing", "ledger-0"),
    2: ofPod("worker-1", "billing", "report-0", 9),
    3: cooling("11:59:00"),
  }),
  usedBlock("10.244.0.40/29", "worker-4", { 0: ofPod("worker-4", "shop", "web-9") }),
  usedBlock("192.0.2.0/29", "-", { 0: ofService("ingress") }, { affinity: "virtual:load-balancer" }),
  usedBlock("fd00:244::/122", "worker-1", pods("worker-1", "web", [0, 1, 2])),
];

const hostOf = ({ spec }: IPAMBlock) => spec.affinity!.replace("host:", "");

function loadBalancerAffinity(cidr: string): BlockAffinity {
  const spec = { state: "confirmed" as const, node: "load-balancer", type: "virtual", cidr, deleted: false };
  const metadata = { name: affinityName(spec.node, cidr), labels: affinityLabels(spec) };
  return { ...affinity(spec.node, cidr, spec), metadata };
}

const affinities = [
  ...blocks.map((block) =>
    hostOf(block).startsWith("virtual:")
      ? loadBalancerAffinity(block.spec.cidr)
      : affinity(hostOf(block), block.spec.cidr),
  ),
  affinity("worker-3", "10.244.0.48/29"),
];

/** Each address by its handle's ID and its block. */
const allocated = blocks.flatMap(({ spec }) =>
  spec.attributes.flatMap(({ handle_id }) => (handle_id ? [[handle_id, spec.cidr] as const] : [])),
);
const handles = [...new Set(allocated.map(([id]) => id))].map((id) => {
  const usage: Record<string, number> = {};
  for (const [other, cidr] of allocated) if (other === id) usage[cidr] = (usage[cidr] ?? 0) + 1;
  return handle(id, usage);
});

const pod = (namespace: string, name: string, node: string, addresses: readonly string[]): PodFacts => ({
  namespace,
  name,
  uid: `uid-${name}`,
  node,
  phase: addresses.length > 0 ? "Running" : "Pending",
  createdAt: addresses.length > 0 ? "2026-01-02T03:04:00Z" : "2026-01-02T11:52:00Z",
  addresses: [...addresses],
});

const addressOf = (cidr: string, ordinal: number) =>
  cidr.replace(
    /(\d*)\/\d+$/,
    (_, last: string) => `${cidr.includes(":") && ordinal === 0 ? "" : Number(last) + ordinal}`,
  );

/** Those whose addresses are in the blocks and that still run. */
const GONE = /^(migrate-|web-9)/;
const running = new Map<string, PodFacts>();
for (const { spec } of blocks) {
  for (const [ordinal, index] of spec.allocations.entries()) {
    const { namespace, pod: name = "", node = "" } = spec.attributes[index ?? -1]?.secondary ?? {};
    if (namespace === undefined || name === "" || GONE.test(name)) continue;
    const addresses = [...(running.get(name)?.addresses ?? []), addressOf(spec.cidr, ordinal)];
    running.set(name, pod(namespace, name, node, addresses));
  }
}

const node = (name: string, tunnel: string): NodeFacts => ({
  name,
  labels: { "kubernetes.io/hostname": name },
  tunnels: { vxlanTunnelAddress: tunnel },
  windows: false,
  ready: true,
  podCapacity: 110,
});

export const exampleCluster: Snapshot = {
  ...emptySnapshot("2026-01-02T12:00:00.000Z", "projectcalico.org/v3"),
  pools: [
    pool("default-ipv4-ippool", "10.244.0.0/26", { blockSize: 29 }),
    pool("default-ipv6-ippool", "fd00:244::/120", { blockSize: 122 }),
    pool("loadbalancers", "192.0.2.0/28", { blockSize: 29, allowedUses: ["LoadBalancer"] }),
  ],
  reservations: [reservation("gateway", "10.244.0.32/31")],
  configurations: [
    configuration({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 2, ipCooldownSeconds: 300 }),
  ],
  blocks,
  affinities,
  handles: [...handles, handle("k8s-pod-network.old-job", { "10.244.0.0/29": 1 })],
  nodes: [node("worker-1", "10.244.0.0"), node("worker-2", "10.244.0.8"), node("worker-3", "10.244.0.24")],
  namespaces: [
    { name: "billing", labels: {} },
    { name: "shop", labels: {} },
  ],
  pods: [...running.values(), pod("shop", "web-3", "worker-2", [])],
  services: [{ namespace: "shop", name: "ingress", uid: "uid-ingress", addresses: ["192.0.2.0"] }],
  clusterInformation: {
    guid: "0123456789abcdef",
    type: "k8s",
    calicoVersion: "v3.32.0",
    ready: true,
    resourceVersion: "77",
  },
  controllers: { assignIPs: "AllServices" },
  events: [],
};

/** The same, with a block of another size over one of worker-1's: a pool's blockSize was edited, and a pod started. */
export const overlappingCluster: Snapshot = {
  ...exampleCluster,
  blocks: [...blocks, usedBlock("10.244.0.4/30", "worker-3", { 1: ofPod("worker-3", "shop", "late-0") })],
  affinities: [...affinities, affinity("worker-3", "10.244.0.4/30")],
  handles: [...exampleCluster.handles, handle("k8s-pod-network.late-0", { "10.244.0.4/30": 1 })],
  pods: [...exampleCluster.pods!, pod("shop", "late-0", "worker-3", ["10.244.0.5"])],
};
