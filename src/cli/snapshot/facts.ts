/** From objects of the cluster to what a snapshot keeps of them. Pure, and lean: of a pod's kilobytes a few dozen bytes. */
import { z } from "zod";
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
import { fieldsOf, flag, text } from "./fields.ts";
import { namedAddresses, namedPools, podAddresses } from "./pod-addresses.ts";

type Texts = Readonly<Record<string, string>>;
const nodeStatus = z.object({
  capacity: z.object({ pods: z.unknown() }).nullish(),
  nodeInfo: z.object({ operatingSystem: text }).nullish(),
  conditions: z.array(z.object({ type: text, status: text })).nullish(),
});

/** @throws IpamError where the node's labels cannot be read */
export function nodeFacts(node: KubeObject): NodeFacts {
  const { name, labels = {}, annotations = {} } = node.metadata;
  const { capacity, nodeInfo, conditions } = fieldsOf("status", node.status, nodeStatus);
  const pods = Number(capacity?.pods ?? Number.NaN);
  const ready = conditions?.find(({ type }) => type === "Ready");
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

const podSpec = z.object({ nodeName: text, hostNetwork: flag });
const podStatus = z.object({ phase: text });

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
  const { nodeName, hostNetwork } = fieldsOf("spec", pod.spec, podSpec);
  const { phase } = fieldsOf("status", pod.status, podStatus);
  const vm = labels?.["vm.kubevirt.io/name"];
  const [askedPools, askedAddresses] = [namedPools(annotations), namedAddresses(annotations)];
  return {
    namespace,
    name,
    uid,
    phase: phase ?? "Unknown",
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

const serviceSpec = z.object({ type: text, loadBalancerClass: text });
const serviceStatus = z.object({
  loadBalancer: z.object({ ingress: z.array(z.object({ ip: text })).nullish() }).nullish(),
});

/** Undefined for a Service of another type. */
export function serviceFacts({ metadata, spec, status }: KubeObject): ServiceFacts | undefined {
  const { type, loadBalancerClass } = fieldsOf("spec", spec, serviceSpec);
  if (type !== "LoadBalancer") return undefined;
  const { loadBalancer } = fieldsOf("status", status, serviceStatus);
  const { namespace = "", name, uid = "", annotations = {} } = metadata;
  return {
    namespace,
    name,
    uid,
    addresses: (loadBalancer?.ingress ?? []).flatMap(({ ip }) => canonicalAddress(ip ?? "") ?? []),
    ...(loadBalancerClass && { loadBalancerClass }),
    ...(ASKS_CALICO.some((key) => annotations[key] !== undefined) && { asksCalico: true }),
  };
}

const informationSpec = z.object({ clusterGUID: text, clusterType: text, calicoVersion: text, datastoreReady: flag });

export function clusterInformationFacts({ metadata, spec }: KubeObject): ClusterInformationFacts {
  const { clusterGUID, clusterType, calicoVersion, datastoreReady } = fieldsOf("spec", spec, informationSpec);
  return {
    guid: clusterGUID ?? "",
    type: clusterType ?? "",
    calicoVersion: calicoVersion ?? "",
    ready: datastoreReady !== false,
    resourceVersion: metadata.resourceVersion ?? "",
  };
}

const controllersSpec = z.object({
  controllers: z.object({ loadBalancer: z.object({ assignIPs: text }).nullish() }).nullish(),
});

export function controllersFacts({ spec }: KubeObject): ControllersFacts {
  const { loadBalancer } = fieldsOf("spec", spec, controllersSpec).controllers ?? {};
  return loadBalancer ? { assignIPs: loadBalancer.assignIPs ?? "AllServices" } : {};
}

interface EventObject extends KubeObject {
  readonly involvedObject?: unknown;
  readonly series?: unknown;
  readonly message?: unknown;
  readonly count?: unknown;
  readonly lastTimestamp?: unknown;
  readonly eventTime?: unknown;
}
const number = z.number().nullish();
const involvedObject = z.object({ kind: text, namespace: text, name: text });
const eventSeries = z.object({ count: number, lastObservedTime: text });
const eventText = z.object({ message: text, count: number, lastTimestamp: text, eventTime: text });

/** Undefined for an event about something else than a pod. */
export function eventFacts(event: EventObject): EventFacts | undefined {
  const { kind, namespace, name } = fieldsOf("involvedObject", event.involvedObject, involvedObject);
  if (kind !== "Pod") return undefined;
  const series = fieldsOf("series", event.series, eventSeries);
  const { message, count, lastTimestamp, eventTime } = fieldsOf("event", event, eventText);
  return {
    namespace: namespace ?? "",
    pod: name ?? "",
    message: message ?? "",
    count: series.count ?? count ?? 1,
    lastSeen: series.lastObservedTime ?? lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp ?? "",
  };
}
