/** Who of the cluster lists an address: pods, tunnel devices of nodes, Services that Calico gives addresses to. */
import type { AttributeMap } from "../api/v3.ts";
import type { ControllersFacts, NodeFacts, PodFacts, ServiceFacts } from "./facts.ts";
import { ownerName } from "./owners.ts";
import type { Snapshot } from "./snapshot.ts";

export type User =
  | { readonly kind: "Pod"; readonly of: PodFacts }
  | { readonly kind: "Node"; readonly of: NodeFacts }
  | { readonly kind: "Service"; readonly of: ServiceFacts };

export type Answer = "yes" | "no" | "unknown";

export interface Use {
  readonly address: string;
  readonly user: User;
  /** Whether whoever lists it still holds it. */
  readonly holds: Exclude<Answer, "no">;
}

/** Every address that is listed and may be held. */
export function* usesOf(snapshot: Snapshot): Generator<Use> {
  const { pods = [], nodes = [], services = [] } = snapshot;
  const podHolds = podHolding(snapshot);
  for (const pod of pods) {
    const holds = pod.addresses.length === 0 ? "no" : podHolds(pod);
    if (holds === "no") continue;
    for (const address of pod.addresses) yield { address, user: { kind: "Pod", of: pod }, holds };
  }
  for (const node of nodes) {
    for (const address of Object.values(node.tunnels))
      yield { address, user: { kind: "Node", of: node }, holds: "yes" };
  }
  for (const service of services) {
    const holds = serviceHolds(service, snapshot);
    if (holds === "no") continue;
    for (const address of service.addresses) yield { address, user: { kind: "Service", of: service }, holds };
  }
}

/**
 * Whether a pod holds addresses at all. One that was never bound to a node, and one that has succeeded, holds none. One
 * that has failed holds none, unless its node is not ready: the node then has not removed its network.
 */
export function podHolding({ nodes }: Pick<Snapshot, "nodes">): (pod: PodFacts) => Answer {
  let byName: ReadonlyMap<string, NodeFacts> | undefined;
  return ({ phase, node, addresses }) => {
    if (phase === "Succeeded") return "no";
    if (node === undefined) return addresses.length > 0 ? "yes" : "no";
    if (phase !== "Failed") return "yes";
    if (nodes === undefined) return "unknown";
    byName ??= new Map(nodes.map((known) => [known.name, known]));
    const of = byName.get(node);
    if (of === undefined || of.ready === true) return "no";
    return of.ready === false ? "yes" : "unknown";
  };
}

function serviceHolds(service: ServiceFacts, { controllers, unread }: Snapshot): Answer {
  if (isCalicos(service, controllers)) return "yes";
  const { loadBalancerClass = "calico" } = service;
  const couldBe = loadBalancerClass === "calico" && unread.some(({ part }) => part === "controllers");
  return couldBe ? "unknown" : "no";
}

export const podName = ({ namespace, name }: Pick<PodFacts, "namespace" | "name">) => `${namespace}/${name}`;

/** Its containers run no more. */
export function hasEnded({ phase }: Pick<PodFacts, "phase">): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether Calico gives the Service its addresses, by the rules of its load-balancer controller. */
export function isCalicos(
  { loadBalancerClass, asksCalico }: ServiceFacts,
  controllers: ControllersFacts | undefined,
): boolean {
  if (controllers?.assignIPs === undefined) return false;
  if (loadBalancerClass !== undefined && loadBalancerClass !== "calico") return false;
  return controllers.assignIPs === "AllServices" || asksCalico === true;
}

/** `Pod default/web-0`. */
export function userText(user: User): string {
  return `${user.kind} ${user.kind === "Node" ? user.of.name : podName(user.of)}`;
}

/** Whether it is being deleted: its address may have been released already. */
export function isLeaving(user: User): boolean {
  return user.kind === "Pod" && user.of.terminating === true;
}

/** Whether attributes name the user, or name no owner that could be looked up. */
export function isNamedBy(user: User, attributes: AttributeMap): boolean {
  const { type, owner } = ownerName(attributes);
  if (user.kind === "Pod" && type === "vmi") return owner === `${user.of.namespace}/${user.of.vm}`;
  if (type === "pod" || type === "vmi") return user.kind === "Pod" && owner === podName(user.of);
  if (type === "service") return user.kind === "Service" && owner === podName(user.of);
  if (user.kind === "Node") return owner === undefined || owner === user.of.name;
  return type === undefined || !type.endsWith("TunnelAddress");
}
