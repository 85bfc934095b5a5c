/** What is kept of a cluster's own objects: who may own an address. Schemas, because a bundle brings them from elsewhere. */
import { z } from "zod";

const texts = z.record(z.string(), z.string());

/** The tunnel devices of a node that have an address of their own: `type` attribute of the allocation, and annotation. */
export const TUNNEL_ANNOTATIONS = {
  ipipTunnelAddress: "projectcalico.org/IPv4IPIPTunnelAddr",
  vxlanTunnelAddress: "projectcalico.org/IPv4VXLANTunnelAddr",
  vxlanV6TunnelAddress: "projectcalico.org/IPv6VXLANTunnelAddr",
  wireguardTunnelAddress: "projectcalico.org/IPv4WireguardInterfaceAddr",
  wireguardV6TunnelAddress: "projectcalico.org/IPv6WireguardInterfaceAddr",
} as const;

export const nodeFacts = z.object({
  name: z.string(),
  labels: texts.describe("Those Calico keeps in an annotation, overlaid by Kubernetes' own."),
  tunnels: texts.describe("Addresses of its tunnel devices, by the type attribute of their allocation."),
  windows: z.boolean(),
  ready: z
    .boolean()
    .optional()
    .describe("Whether its Ready condition is True; absent where the node reports no such condition."),
  podCapacity: z.int().optional().describe("How many pods the kubelet takes, where it says so."),
});
export type NodeFacts = Readonly<z.infer<typeof nodeFacts>>;

export const namespaceFacts = z.object({
  name: z.string(),
  labels: texts,
  askedPools: z.array(z.string()).optional().describe("Pools that its pods are to draw from, by name or CIDR."),
});
export type NamespaceFacts = Readonly<z.infer<typeof namespaceFacts>>;

export const podFacts = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  node: z.string().optional().describe("Absent while it is not scheduled."),
  phase: z.string(),
  createdAt: z.string().describe("RFC 3339."),
  hostNetwork: z.literal(true).optional(),
  terminating: z.literal(true).optional().describe("Being deleted: its address may have been released already."),
  addresses: z.array(z.string()).describe("Of every interface that is known, canonical; none on the host's network."),
  vm: z.string().optional().describe("The KubeVirt VM that the pod runs."),
  askedPools: z.array(z.string()).optional().describe("Pools that its annotations ask for, by name or CIDR."),
  askedAddresses: z.array(z.string()).optional().describe("Addresses that its annotation asks for."),
});
export type PodFacts = Readonly<z.infer<typeof podFacts>>;

export const vmFacts = z.object({ namespace: z.string(), name: z.string() });
/** A KubeVirt VM or VM instance. It keeps its address while it is stopped. */
export type VmFacts = Readonly<z.infer<typeof vmFacts>>;

export const serviceFacts = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  addresses: z.array(z.string()).describe("Those in its status, canonical."),
  loadBalancerClass: z.string().optional(),
  asksCalico: z.literal(true).optional().describe("Asks Calico for an address by annotation."),
});
/** A Service of type LoadBalancer. */
export type ServiceFacts = Readonly<z.infer<typeof serviceFacts>>;

export const clusterInformationFacts = z.object({
  guid: z.string(),
  type: z.string(),
  calicoVersion: z.string(),
  ready: z.boolean().describe("False only where Calico's datastore is locked: nothing is allocated then."),
  resourceVersion: z.string(),
});
export type ClusterInformationFacts = Readonly<z.infer<typeof clusterInformationFacts>>;

export const controllersFacts = z.object({
  assignIPs: z
    .string()
    .optional()
    .describe("Which Services get addresses: AllServices or RequestedServicesOnly; absent: the controller is off."),
});
/** What kube-controllers is told to do. */
export type ControllersFacts = Readonly<z.infer<typeof controllersFacts>>;

export const eventFacts = z.object({
  namespace: z.string(),
  pod: z.string(),
  message: z.string(),
  count: z.int(),
  lastSeen: z.string().describe("RFC 3339."),
});
/** An event of a pod whose sandbox, and with it its address, could not be made. */
export type EventFacts = Readonly<z.infer<typeof eventFacts>>;
