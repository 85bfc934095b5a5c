/**
 * The owners of a few addresses as they are now: what is read right before a write. Only they are read, and laid over what
 * was seen of the whole cluster before.
 */
import type { IPAMBlock } from "../../api/v3.ts";
import type { Allocation } from "../../judgement/allocations.ts";
import type { NodeFacts, PodFacts, ServiceFacts, VmFacts } from "../../judgement/facts.ts";
import { affinityHost } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { podName } from "../../judgement/users.ts";
import type { KubeListOptions } from "../../kube/types.ts";
import { type ClusterSource, NODES, PODS, Reading, SERVICES, VM_INSTANCES, VMS } from "./cluster.ts";
import { nodeFacts, podFacts, serviceFacts, vmFacts } from "./facts.ts";
import type { TakeOptions } from "./take.ts";

/** What is to be written: blocks as they are now, and those of their addresses that are to be freed. */
export interface Subject {
  readonly blocks: readonly IPAMBlock[];
  readonly allocations: readonly Allocation[];
}

/** @returns the earlier snapshot with the subject, and whoever may own its addresses, as they are now */
export async function ownersNow(
  source: ClusterSource,
  earlier: Snapshot,
  subject: Subject,
  options: TakeOptions,
): Promise<Snapshot> {
  const reading = new Reading(source, options);
  const asked = askedOf(subject);
  const changed = {
    blocks: replaced(earlier.blocks, subject.blocks, ({ metadata }) => metadata.name),
    ...(earlier.nodes && { nodes: await reading.part("nodes", () => nodesNow(reading, earlier.nodes!, asked)) }),
    ...(earlier.pods && { pods: await reading.part("pods", () => podsNow(reading, earlier.pods!, asked)) }),
    ...(earlier.services && {
      services: await reading.part("services", () => servicesNow(reading, earlier.services!, asked)),
    }),
    ...(earlier.vms && { vms: await reading.part("vms", () => vmsNow(reading, earlier.vms!, asked)) }),
  };
  const { malformed, unread } = reading.gaps;
  return {
    ...earlier,
    ...(changed as Partial<Snapshot>),
    malformed: [...earlier.malformed, ...malformed],
    unread: [...earlier.unread, ...unread],
  };
}

interface Name {
  readonly namespace: string;
  readonly name: string;
}

/** Whom to look for. A pod whose node is known is found among that node's. */
interface Asked {
  readonly nodes: readonly string[];
  readonly pods: readonly Name[];
  readonly services: readonly Name[];
  readonly vms: readonly Name[];
}

function askedOf({ blocks, allocations }: Subject): Asked {
  const owners = allocations.flatMap(({ owner, alternate }) => [owner, alternate]);
  const named = (key: string, isMeant: (owner: (typeof owners)[number]) => boolean = () => true) => {
    const names = owners.flatMap((owner): Name[] => {
      const { namespace, [key]: name } = owner;
      return namespace && name && isMeant(owner) ? [{ namespace, name }] : [];
    });
    return [...new Map(names.map((name) => [podName(name), name])).values()];
  };
  const nodes = [...owners.map(({ node }) => node), ...blocks.map(affinityHost)];
  return {
    nodes: [...new Set(nodes)].filter((node) => node !== undefined),
    pods: named("pod", ({ node }) => node === undefined),
    services: named("service"),
    vms: named("vmi-name"),
  };
}

const byName = ({ name, namespace }: Name): KubeListOptions => ({ namespace, fieldSelector: `metadata.name=${name}` });

/** One after the other: a batch has few of them, and they are read while others are written. */
async function each<T, R>(items: readonly T[], read: (item: T) => Promise<R[]>): Promise<R[]> {
  const found: R[] = [];
  for (const item of items) found.push(...(await read(item)));
  return found;
}

function replaced<T>(earlier: readonly T[], now: readonly T[], key: (object: T) => string): T[] {
  return [...new Map([...earlier, ...now].map((object) => [key(object), object])).values()];
}

async function nodesNow(reading: Reading, earlier: readonly NodeFacts[], { nodes }: Asked): Promise<NodeFacts[]> {
  const now = await each(nodes, (name) => reading.list(NODES, nodeFacts, { fieldSelector: `metadata.name=${name}` }));
  return [...earlier.filter(({ name }) => !nodes.includes(name)), ...now];
}

async function podsNow(
  reading: Reading,
  earlier: readonly PodFacts[],
  { nodes, pods, vms }: Asked,
): Promise<PodFacts[]> {
  const names = new Set(pods.map(podName));
  const machines = new Set(vms.map(podName));
  const isAsked = (pod: PodFacts) =>
    names.has(podName(pod)) ||
    nodes.includes(pod.node ?? "") ||
    (pod.vm !== undefined && machines.has(`${pod.namespace}/${pod.vm}`));
  const now = [
    ...(await each(nodes, (node) => reading.list(PODS, podFacts, { fieldSelector: `spec.nodeName=${node}` }))),
    ...(await each(pods, (pod) => reading.list(PODS, podFacts, byName(pod)))),
    ...(await each(vms, ({ namespace, name }) =>
      reading.list(PODS, podFacts, { namespace, labelSelector: `vm.kubevirt.io/name=${name}` }),
    )),
  ];
  return replaced(
    earlier.filter((pod) => !isAsked(pod)),
    now,
    podName,
  );
}

async function servicesNow(
  reading: Reading,
  earlier: readonly ServiceFacts[],
  { services }: Asked,
): Promise<ServiceFacts[]> {
  const names = new Set(services.map(podName));
  const now = await each(services, (service) => reading.list(SERVICES, serviceFacts, byName(service)));
  return [...earlier.filter((service) => !names.has(podName(service))), ...now];
}

async function vmsNow(reading: Reading, earlier: readonly VmFacts[], { vms }: Asked): Promise<VmFacts[]> {
  const names = new Set(vms.map(podName));
  const kinds = [VMS, VM_INSTANCES];
  const now = await each(vms, (vm) => each(kinds, (kind) => reading.list(kind, vmFacts, byName(vm))));
  return [...earlier.filter((vm) => !names.has(podName(vm))), ...now];
}
