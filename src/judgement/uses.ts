/** Who of the cluster has which address: pods, tunnel devices of nodes, Services that Calico gives addresses to. */
import type { AttributeMap } from "../api/v3.ts";
import type { ControllersFacts, NodeFacts, PodFacts, ServiceFacts } from "./facts.ts";
import { ownerName } from "./owners.ts";
import type { Snapshot } from "./snapshot.ts";

export type User =
  | { readonly kind: "Pod"; readonly of: PodFacts }
  | { readonly kind: "Node"; readonly of: NodeFacts }
  | { readonly kind: "Service"; readonly of: ServiceFacts };

export interface Use {
  readonly address: string;
  readonly user: User;
}

/** Every use that is in force. A pod that has ended uses none, whatever its status still shows. */
export function* usesOf({ pods = [], nodes = [], services = [], controllers }: Snapshot): Generator<Use> {
  for (const pod of pods) {
    if (hasEnded(pod)) continue;
    for (const address of pod.addresses) yield { address, user: { kind: "Pod", of: pod } };
  }
  for (const node of nodes) {
    for (const address of Object.values(node.tunnels)) yield { address, user: { kind: "Node", of: node } };
  }
  for (const service of services) {
    if (!isCalicos(service, controllers)) continue;
    for (const address of service.addresses) yield { address, user: { kind: "Service", of: service } };
  }
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

/** Whether it may go away any moment, and its address with it. */
export function isLeaving(user: User): boolean {
  return user.kind === "Pod" && user.of.terminating === true;
}

/** Whether attributes name the user, or name nobody that could be looked for. */
export function isNamedBy(user: User, attributes: AttributeMap): boolean {
  const { type, owner } = ownerName(attributes);
  if (user.kind === "Pod" && type === "vmi") return owner === `${user.of.namespace}/${user.of.vm}`;
  if (type === "pod" || type === "vmi") return user.kind === "Pod" && owner === podName(user.of);
  if (type === "service") return user.kind === "Service" && owner === podName(user.of);
  if (user.kind === "Node") return owner === undefined || owner === user.of.name;
  return type === undefined || !type.endsWith("TunnelAddress");
}
