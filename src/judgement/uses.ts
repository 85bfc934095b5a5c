/** Who of the cluster has which address: pods, tunnel devices of nodes, Services that Calico gives addresses to. */
import type { ControllersFacts, NodeFacts, PodFacts, ServiceFacts } from "./facts.ts";
import type { Snapshot } from "./snapshot.ts";

/** An owner that an address's user is found to be. */
export type User =
  | { readonly kind: "Pod"; readonly name: string; readonly pod: PodFacts }
  | { readonly kind: "Node"; readonly name: string; readonly node: NodeFacts }
  | { readonly kind: "Service"; readonly name: string; readonly service: ServiceFacts };

export interface Use {
  readonly address: string;
  readonly user: User;
}

/** Every use that is in force. A pod that has ended, or is ending, uses none. */
export function* usesOf({ pods = [], nodes = [], services = [], controllers }: Snapshot): Generator<Use> {
  for (const pod of pods) {
    if (hasEnded(pod)) continue;
    const user: User = { kind: "Pod", name: podName(pod), pod };
    for (const address of pod.addresses) yield { address, user };
  }
  for (const node of nodes) {
    const user: User = { kind: "Node", name: node.name, node };
    for (const address of Object.values(node.tunnels)) yield { address, user };
  }
  for (const service of services) {
    if (!isCalicos(service, controllers)) continue;
    const user: User = { kind: "Service", name: `${service.namespace}/${service.name}`, service };
    for (const address of service.addresses) yield { address, user };
  }
}

export const podName = ({ namespace, name }: Pick<PodFacts, "namespace" | "name">) => `${namespace}/${name}`;

/** Its containers run no more: its status may still show an address, which it does not use. */
export function hasEnded({ phase }: PodFacts): boolean {
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
export const userText = ({ kind, name }: User) => `${kind} ${name}`;
