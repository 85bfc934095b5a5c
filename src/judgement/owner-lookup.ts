/** Whether whoever an address was allocated for is still there. Careful: only what is surely gone is called so. */

import type { Allocation } from "./allocations.ts";
import { type PodFacts, TUNNEL_ANNOTATIONS } from "./facts.ts";
import type { Snapshot } from "./snapshot.ts";
import { hasEnded, podName } from "./uses.ts";

export type Verdict =
  | { readonly state: "there" }
  | { readonly state: "gone"; readonly because: string }
  /** Without a reason: what would tell could not be looked at. */
  | { readonly state: "unknown"; readonly because?: string };

const THERE: Verdict = { state: "there" };
const UNKNOWN: Verdict = { state: "unknown" };
const gone = (because: string): Verdict => ({ state: "gone", because });

/** Asked of an allocation whose address nobody uses. */
export function ownerLookup({ pods, nodes, services }: Snapshot): (allocation: Allocation) => Verdict {
  let podsByName: ReadonlyMap<string, PodFacts> | undefined;
  /** Made when the first is asked for: on a large cluster where nothing leaks there is none to look for. */
  const podNamed = (name: string) => {
    podsByName ??= new Map(pods?.map((pod) => [podName(pod), pod]));
    return podsByName.get(name);
  };
  const vms = new Set(pods?.flatMap(({ namespace, vm }) => (vm ? [`${namespace}/${vm}`] : [])));
  const nodeNames = nodes && new Set(nodes.map(({ name }) => name));
  const serviceNames = services && new Set(services.map(({ namespace, name }) => `${namespace}/${name}`));
  return (allocation) => {
    const { owner, alternate } = allocation;
    const { namespace = "", pod, service, type = "", node = "" } = owner;
    const vm = owner["vmi-name"];
    if (vm !== undefined && namespace !== "")
      return vms.has(`${namespace}/${vm}`) ? THERE : keptForVm(`${namespace}/${vm}`);
    if (pod !== undefined && namespace !== "") {
      if (pods === undefined) return UNKNOWN;
      const other = podNamed(`${alternate["namespace"]}/${alternate["pod"]}`);
      return other && !hasEnded(other) ? THERE : podVerdict(podNamed(`${namespace}/${pod}`), allocation);
    }
    if (type in TUNNEL_ANNOTATIONS) {
      if (nodeNames === undefined) return UNKNOWN;
      return nodeNames.has(node) ? THERE : gone(`node ${node} does not exist`);
    }
    if (service !== undefined && namespace !== "") {
      if (serviceNames === undefined) return UNKNOWN;
      const name = `${namespace}/${service}`;
      return serviceNames.has(name) ? THERE : gone(`there is no Service ${name} of type LoadBalancer`);
    }
    return { state: "unknown", because: "its attributes name no pod, tunnel or Service" };
  };
}

/** A VM keeps its address while it is stopped, and VMs are not looked at. */
function keptForVm(name: string): Verdict {
  return { state: "unknown", because: `it is kept for the VM ${name}, which runs in no pod now` };
}

function podVerdict(pod: PodFacts | undefined, { owner }: Allocation): Verdict {
  const { node } = owner;
  if (pod === undefined) return gone(`pod ${owner["namespace"]}/${owner["pod"]} does not exist`);
  const name = `pod ${podName(pod)}`;
  if (hasEnded(pod)) return gone(`${name} has ended (${pod.phase})`);
  if (pod.terminating) return THERE;
  if (pod.hostNetwork) return gone(`${name} is on its node's network`);
  if (node !== undefined && pod.node !== undefined && node !== pod.node) {
    return gone(`${name} is on node ${pod.node} now, and it was allocated on ${node}`);
  }
  if (pod.addresses.length === 0) return THERE; // it is starting
  return gone(`${name} has other addresses: ${pod.addresses.join(", ")}`);
}
