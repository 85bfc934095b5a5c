/** Whether the owner that attributes name is there and holds the address. Asked of an address that nobody lists. */
import type { AttributeMap } from "../api/v3.ts";
import type { Allocation } from "./allocations.ts";
import { type PodFacts, TUNNEL_ANNOTATIONS } from "./facts.ts";
import { ownerName } from "./owners.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Answer, podHolding, podName } from "./users.ts";

export interface Usage {
  readonly inUse: Answer;
  /** A clause about the address: `pod shop/web-0 does not exist`. */
  readonly because: string;
  /** Set where the answer is unknown only because something could not be read. */
  readonly unread?: true;
  /** Its pod is there and does not list it, but lists another address of the same handle. */
  readonly unlisted?: true;
}

const yes = (because: string): Usage => ({ inUse: "yes", because });
const no = (because: string): Usage => ({ inUse: "no", because });
const unknown = (because: string): Usage => ({ inUse: "unknown", because });
const notRead = (part: string): Usage => ({ inUse: "unknown", because: `${part} were not read`, unread: true });

/** What blocks hold at an address. */
type AllocationsAt = (address: string) => readonly Allocation[];
type Lookup = (attributes: AttributeMap, allocation: Allocation) => Usage;

/** The owner first; where it is gone, the alternate owner, which a VM in migration has. */
export function ownerUsage(snapshot: Snapshot, allocationsAt: AllocationsAt): (allocation: Allocation) => Usage {
  const lookup = lookupIn(snapshot, allocationsAt);
  return (allocation) => {
    const owner = lookup(allocation.owner, allocation);
    if (owner.inUse === "yes" || ownerName(allocation.alternate).owner === undefined) return owner;
    const alternate = lookup(allocation.alternate, allocation);
    return alternate.inUse === "no" ? owner : alternate;
  };
}

function lookupIn(snapshot: Snapshot, allocationsAt: AllocationsAt): Lookup {
  const [ofVm, ofPod] = [vmUsage(snapshot), podUsage(snapshot, allocationsAt)];
  const [ofTunnel, ofService] = [tunnelUsage(snapshot), serviceUsage(snapshot)];
  return (attributes, allocation) => {
    const { namespace = "", pod, service, type = "" } = attributes;
    const vm = attributes["vmi-name"];
    if (vm !== undefined && namespace !== "") return ofVm(`${namespace}/${vm}`);
    if (pod !== undefined && namespace !== "") return ofPod(attributes, allocation);
    if (type in TUNNEL_ANNOTATIONS) return ofTunnel(attributes, allocation);
    if (service !== undefined && namespace !== "") return ofService(`${namespace}/${service}`);
    return unknown("its attributes name no pod, tunnel or Service");
  };
}

function vmUsage(snapshot: Snapshot): (name: string) => Usage {
  const { pods, vms } = snapshot;
  const holds = podHolding(snapshot);
  let running: ReadonlySet<string> | undefined;
  const stored = vms && new Set(vms.map(podName));
  return (name) => {
    if (pods === undefined) return notRead("pods");
    running ??= new Set(pods.flatMap((pod) => (pod.vm && holds(pod) !== "no" ? [`${pod.namespace}/${pod.vm}`] : [])));
    if (running.has(name)) return yes(`the VM ${name} runs`);
    if (stored === undefined) return unknown(`it is kept for the VM ${name}, which runs in no pod now`);
    return stored.has(name) ? yes(`it is kept for the VM ${name}`) : no(`the VM ${name} does not exist`);
  };
}

function podUsage(snapshot: Snapshot, allocationsAt: AllocationsAt): Lookup {
  const { pods } = snapshot;
  const holds = podHolding(snapshot);
  let byName: ReadonlyMap<string, PodFacts> | undefined;
  return ({ namespace, pod: name, node }, allocation) => {
    if (pods === undefined) return notRead("pods");
    // Made for the first that is looked up: a large cluster without leaks needs none.
    byName ??= new Map(pods.map((pod) => [podName(pod), pod]));
    const pod = byName.get(`${namespace}/${name}`);
    if (pod === undefined) return no(`pod ${namespace}/${name} does not exist`);
    const text = `pod ${podName(pod)}`;
    const held = holds(pod);
    if (held === "no" && pod.node === undefined) return no(`${text} was never bound to a node`);
    if (held === "no") return no(`${text} has ended (${pod.phase})`);
    if (pod.hostNetwork) return no(`${text} is on its node's network`);
    if (held === "unknown") return unknown(`${text} has failed, and whether its node is ready is not known`);
    if (pod.terminating) return yes(`${text} is being deleted, and is still there`);
    if (pod.addresses.length === 0) return starting(pod, node, allocation);
    return notListed(pod, allocation, allocationsAt);
  };
}

/** It lists no address yet. An older allocation, or one of another node, may be of an earlier pod of the same name. */
function starting(pod: PodFacts, node: string | undefined, allocation: Allocation): Usage {
  const text = `pod ${podName(pod)}`;
  const [allocated, created] = [allocatedAt(allocation), Date.parse(pod.createdAt)];
  if (node !== undefined && node !== pod.node)
    return unknown(`${text} is starting on node ${pod.node}, and it was allocated on ${node}`);
  return allocated !== undefined && allocated < created
    ? unknown(`${text} is starting, and was created after the address was allocated`)
    : yes(`${text} is starting`);
}

/** The pod lists other addresses. This one is surely left over only where they are of another, newer handle. */
function notListed(pod: PodFacts, allocation: Allocation, allocationsAt: AllocationsAt): Usage {
  const text = `pod ${podName(pod)}`;
  const listed = pod.addresses.flatMap(allocationsAt).filter(({ owner }) => isOf(owner, pod));
  const same = listed.find(({ handle }) => handle !== undefined && handle === allocation.handle);
  if (same) return { ...yes(`${text} lists ${same.address} of the same handle`), unlisted: true };
  const others = listed.filter(({ handle }) => handle !== undefined && handle !== allocation.handle);
  if (others.length === 0) return unknown(`${text} lists ${pod.addresses.join(", ")}, which no block holds for it`);
  const allocated = allocatedAt(allocation) ?? 0;
  if (others.every((other) => (allocatedAt(other) ?? allocated) < allocated))
    return unknown(`${text} lists addresses that were allocated before it: it may be restarting`);
  return no(`${text} has other addresses: ${pod.addresses.join(", ")}`);
}

const isOf = ({ namespace, pod }: AttributeMap, of: PodFacts) => namespace === of.namespace && pod === of.name;

/** As the CNI plugin writes it, which is how Go prints a time: `2026-01-02 03:04:05.678 +0000 UTC`. */
const GO_TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,3})?\d* ?(Z|[+-]\d\d:?\d\d)/;

/** In milliseconds; undefined where its creator did not write it. */
function allocatedAt({ owner }: Allocation): number | undefined {
  const [, date, time, fraction = "", zone = ""] = GO_TIME.exec(owner["timestamp"] ?? "") ?? [];
  if (date === undefined) return undefined;
  const parsed = Date.parse(`${date}T${time}${fraction}${zone.replace(/(\d\d)(\d\d)$/, "$1:$2")}`);
  return Number.isNaN(parsed) ? undefined : parsed;
}

function tunnelUsage({ nodes }: Snapshot): Lookup {
  let byName: ReadonlyMap<string, Readonly<Record<string, string>>> | undefined;
  return ({ node = "", type = "" }) => {
    if (nodes === undefined) return notRead("nodes");
    byName ??= new Map(nodes.map(({ name, tunnels }) => [name, tunnels]));
    const tunnels = byName.get(node);
    if (tunnels === undefined) return no(`node ${node} does not exist`);
    return tunnels[type] === undefined
      ? yes(`node ${node} is there`)
      : unknown(`node ${node} has ${tunnels[type]} as its ${type}`);
  };
}

function serviceUsage({ services }: Snapshot): (name: string) => Usage {
  const names = services && new Set(services.map(podName));
  return (name) => {
    if (names === undefined) return notRead("services");
    return names.has(name) ? yes(`Service ${name} is there`) : no(`there is no Service ${name} of type LoadBalancer`);
  };
}
