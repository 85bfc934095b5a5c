/** From objects of the cluster to what a snapshot keeps of them. Pure, and lean: of a pod's kilobytes a few dozen bytes. */
import type { KubeObject } from "../../api/meta.ts";
import { nodeLabels } from "../../ipam/nodes.ts";
import {
  type ClusterInformationFacts,
  type ControllersFacts,
  type EventFacts,
  type NamespaceFacts,
  type NodeFacts,
  type PodFacts,
  type ServiceFacts,
  TUNNEL_ANNOTATIONS,
  type VmFacts,
} from "../../judgement/facts.ts";
import { canonicalAddress } from "../../net/address.ts";
import { namedAddresses, namedPools, podAddresses } from "./pod-addresses.ts";

type Texts = Readonly<Record<string, string>>;
type NodeStatus = {
  readonly capacity?: { readonly pods?: unknown };
  readonly nodeInfo?: { readonly operatingSystem?: string };
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
};

/** @throws IpamError where the node's labels cannot be read */
export function nodeFacts(node: KubeObject): NodeFacts {
  const { name, labels = {}, annotations = {} } = node.metadata;
  const { capacity, nodeInfo, conditions = [] } = (node.status ?? {}) as NodeStatus;
  const pods = Number(capacity?.pods ?? Number.NaN);
  const ready = conditions.find(({ type }) => type === "Ready");
  return {
    name,
    labels: nodeLabels(node),
    tunnels: tunnelsOf(annotations),
    windows: (labels["kubernetes.io/os"] ?? nodeInfo?.operatingSystem) === "windows",
    ...(ready && { ready: ready.status === "True" }),
    ...(Number.isInteger(pods) && { podCapacity: pods }),
  };
}

function tunnelsOf(annotations: Texts): NodeFacts["tunnels"] {
  const found = Object.entries(TUNNEL_ANNOTATIONS).flatMap(([type, annotation]) => {
    const address = canonicalAddress(annotations[annotation]?.split("/", 1)[0] ?? "");
    return address === undefined ? [] : [[type, address] as const];
  });
  return Object.fromEntries(found);
}

export function namespaceFacts({ metadata }: KubeObject): NamespaceFacts {
  const askedPools = namedPools(metadata.annotations);
  return { name: metadata.name, labels: metadata.labels ?? {}, ...(askedPools && { askedPools }) };
}

type PodSpec = { readonly nodeName?: string; readonly hostNetwork?: boolean };

export function podFacts(pod: KubeObject): PodFacts {
  const {
    namespace = "",
    name,
    uid = "",
    creationTimestamp = "",
    deletionTimestamp,
    labels,
    annotations,
  } = pod.metadata;
  const { nodeName, hostNetwork } = (pod.spec ?? {}) as PodSpec;
  const { phase = "Unknown" } = (pod.status ?? {}) as { readonly phase?: string };
  const vm = labels?.["vm.kubevirt.io/name"];
  const [askedPools, askedAddresses] = [namedPools(annotations), namedAddresses(annotations)];
  return {
    namespace,
    name,
    uid,
    phase,
    createdAt: creationTimestamp,
    addresses: hostNetwork ? [] : podAddresses(pod),
    ...(nodeName && { node: nodeName }),
    ...(hostNetwork && { hostNetwork }),
    ...(deletionTimestamp && { terminating: true }),
    ...(vm && { vm }),
    ...(askedPools && { askedPools }),
    ...(askedAddresses && { askedAddresses }),
  };
}

/** Of a VM and of a VM instance. */
export function vmFacts({ metadata: { namespace = "", name } }: KubeObject): VmFacts {
  return { namespace, name };
}

const ASKS_CALICO = ["projectcalico.org/ipv4pools", "projectcalico.org/ipv6pools", "projectcalico.org/loadBalancerIPs"];

/** Undefined for a Service of another type. */
export function serviceFacts({ metadata, spec, status }: KubeObject): ServiceFacts | undefined {
  const { type, loadBalancerClass } = (spec ?? {}) as { readonly type?: string; readonly loadBalancerClass?: string };
  if (type !== "LoadBalancer") return undefined;
  const { loadBalancer } = (status ?? {}) as { readonly loadBalancer?: { readonly ingress?: { ip?: string }[] } };
  const { namespace = "", name, uid = "", annotations = {} } = metadata;
  return {
    namespace,
    name,
    uid,
    addresses: (loadBalancer?.ingress ?? []).flatMap(({ ip = "" }) => canonicalAddress(ip) ?? []),
    ...(loadBalancerClass && { loadBalancerClass }),
    ...(ASKS_CALICO.some((key) => annotations[key] !== undefined) && { asksCalico: true }),
  };
}

type ClusterInformationSpec = {
  readonly clusterGUID?: string;
  readonly clusterType?: string;
  readonly calicoVersion?: string;
  readonly datastoreReady?: boolean;
};

export function clusterInformationFacts({ metadata, spec }: KubeObject): ClusterInformationFacts {
  const {
    clusterGUID = "",
    clusterType = "",
    calicoVersion = "",
    datastoreReady,
  } = (spec ?? {}) as ClusterInformationSpec;
  const { resourceVersion = "" } = metadata;
  return { guid: clusterGUID, type: clusterType, calicoVersion, ready: datastoreReady !== false, resourceVersion };
}

export function controllersFacts({ spec }: KubeObject): ControllersFacts {
  const { controllers } = (spec ?? {}) as { readonly controllers?: { loadBalancer?: { assignIPs?: string } | null } };
  const { loadBalancer } = controllers ?? {};
  return loadBalancer ? { assignIPs: loadBalancer.assignIPs ?? "AllServices" } : {};
}

interface EventObject extends KubeObject {
  readonly involvedObject?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

/** Undefined for an event about something else than a pod. */
export function eventFacts(event: EventObject): EventFacts | undefined {
  const { involvedObject = {}, message = "", series, count, lastTimestamp, eventTime, metadata } = event;
  if (involvedObject.kind !== "Pod") return undefined;
  return {
    namespace: involvedObject.namespace ?? "",
    pod: involvedObject.name ?? "",
    message,
    count: series?.count ?? count ?? 1,
    lastSeen: series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "",
  };
}
