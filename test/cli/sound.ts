/** A small cluster that is as it should be: both families, a tunnel, a borrowed address, a Service, one that cools down. */
import { affinityLabels, affinityName, loadBalancerHandle, tunnelHandle } from "../../src/api/names.ts";
import type { NodeFacts, PodFacts } from "../../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, block, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";

export const NOW = new Date("2026-01-02T12:00:00Z");
const TAKEN_AT = "2026-01-02T12:00:00.000Z";

/** What the CNI plugin writes beside a pod's address. */
export const ofPod = (name: string, node: string, more: object = {}) => ({
  handle_id: `k8s-pod-network.${name}`,
  secondary: { namespace: "shop", pod: name, node, timestamp: "2026-01-02 03:04:05 +0000 UTC" },
  ...more,
});
export const ofTunnel = (node: string) => ({
  handle_id: tunnelHandle("vxlan", node),
  secondary: { node, type: "vxlanTunnelAddress" },
});
export const ofService = (name: string) => ({
  handle_id: loadBalancerHandle(name, "shop", `uid-${name}`),
  secondary: { service: name, namespace: "shop", type: "LoadBalancer" },
});

export const pod = (
  name: string,
  node: string,
  addresses: readonly string[],
  more: Partial<PodFacts> = {},
): PodFacts => ({
  namespace: "shop",
  name,
  uid: `uid-${name}`,
  node,
  phase: "Running",
  createdAt: "2026-01-02T03:04:00Z",
  addresses: [...addresses],
  ...more,
});

export const node = (name: string, more: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  labels: { "kubernetes.io/hostname": name },
  tunnels: {},
  windows: false,
  ready: true,
  podCapacity: 110,
  ...more,
});

/** The row of a block that the load-balancer controller owns. */
export function virtualAffinity(cidr: string) {
  const spec = { state: "confirmed" as const, node: "load-balancer", type: "virtual", cidr, deleted: false };
  return {
    ...affinity("load-balancer", cidr, spec),
    metadata: { name: affinityName("load-balancer", cidr), labels: affinityLabels(spec) },
  };
}

export const sound: Snapshot = {
  ...emptySnapshot(TAKEN_AT, "projectcalico.org/v3"),
  pools: [
    pool("lb", "10.4.0.0/29", { blockSize: 30, allowedUses: ["LoadBalancer"] }),
    pool("p4", "10.0.0.0/28", { blockSize: 30 }),
    pool("p6", "fd00::/120", { blockSize: 122 }),
  ],
  reservations: [reservation("gateway", "10.0.0.15/32")],
  configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 300 })],
  blocks: [
    usedBlock("10.0.0.0/30", "node-a", { 0: ofPod("web-0", "node-a"), 1: ofTunnel("node-a") }),
    usedBlock("10.0.0.4/30", "node-b", {
      0: ofPod("web-1", "node-b"),
      1: ofPod("web-2", "node-a"),
      2: { releasedAt: "2026-01-02T11:59:00Z" },
    }),
    usedBlock("10.4.0.0/30", "-", { 0: ofService("ingress") }, { affinity: "virtual:load-balancer" }),
    usedBlock("fd00::/122", "node-a", { 0: ofPod("web-0", "node-a") }),
  ],
  affinities: [
    virtualAffinity("10.4.0.0/30"),
    affinity("node-a", "10.0.0.0/30"),
    affinity("node-a", "fd00::/122"),
    affinity("node-b", "10.0.0.4/30"),
  ],
  handles: [
    handle("k8s-pod-network.web-0", { "10.0.0.0/30": 1, "fd00::/122": 1 }),
    handle("k8s-pod-network.web-1", { "10.0.0.4/30": 1 }),
    handle("k8s-pod-network.web-2", { "10.0.0.4/30": 1 }),
    handle(tunnelHandle("vxlan", "node-a"), { "10.0.0.0/30": 1 }),
    handle(loadBalancerHandle("ingress", "shop", "uid-ingress"), { "10.4.0.0/30": 1 }),
  ],
  nodes: [node("node-a", { tunnels: { vxlanTunnelAddress: "10.0.0.1" } }), node("node-b")],
  namespaces: [{ name: "shop", labels: {} }],
  pods: [
    pod("web-0", "node-a", ["10.0.0.0", "fd00::"]),
    pod("web-1", "node-b", ["10.0.0.4"]),
    pod("web-2", "node-a", ["10.0.0.5"]),
    pod("done", "node-a", ["10.0.0.6"], { phase: "Succeeded" }),
    pod("agent", "node-a", [], { hostNetwork: true }),
  ],
  services: [{ namespace: "shop", name: "ingress", uid: "uid-ingress", addresses: ["10.4.0.0"] }],
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

/** An empty block of a host. */
export const emptyBlock = (cidr: string, host: string) =>
  block(cidr, { affinity: `host:${host}`, affinityClaimTime: "2026-01-02T03:04:05Z" });
