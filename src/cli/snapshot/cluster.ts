/**
 * A snapshot of a cluster, in either generation. Nothing is written, not even a soft delete finished. Allocations are
 * read before what should own them: what starts in between is then an owner too many, never one too few.
 */
import { calicoInstallationResource, foreignIpam } from "../../api/calico-installation.ts";
import type { KubeObject } from "../../api/meta.ts";
import type { IPAMBlock, IpamKind, V3 } from "../../api/v3.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { apiGroups, codecOf, type Flavour } from "../../datastore/flavours.ts";
import { datastoreError } from "../../datastore/kubernetes-errors.ts";
import { withMove } from "../../datastore/moved.ts";
import type { VmFacts } from "../../judgement/facts.ts";
import type { Malformed, Snapshot, Unread } from "../../judgement/snapshot.ts";
import type { KubeClient, KubeListOptions, ResourceType } from "../../kube/types.ts";
import {
  clusterInformationFacts,
  controllersFacts,
  eventFacts,
  namespaceFacts,
  nodeFacts,
  podFacts,
  serviceFacts,
  vmFacts,
} from "./facts.ts";
import { lean } from "./lean.ts";
import type { TakeOptions } from "./take.ts";

export interface ClusterSource {
  readonly client: KubeClient;
  readonly flavour: Flavour;
}

const core = (plural: string, kind: string): ResourceType => ({ group: "", version: "v1", plural, kind });
export const NODES = core("nodes", "Node");
const NAMESPACES = core("namespaces", "Namespace");
export const PODS = core("pods", "Pod");
export const SERVICES = core("services", "Service");
const kubevirt = (plural: string, kind: string): ResourceType => ({
  group: "kubevirt.io",
  version: "v1",
  plural,
  kind,
});
export const VMS = kubevirt("virtualmachines", "VirtualMachine");
export const VM_INSTANCES = kubevirt("virtualmachineinstances", "VirtualMachineInstance");
const EVENTS = core("events", "Event");
const SANDBOX_FAILED = { fieldSelector: "reason=FailedCreatePodSandBox" };
const INFORMATION = { plural: "clusterinformations", kind: "ClusterInformation" };
const CONTROLLERS = { plural: "kubecontrollersconfigurations", kind: "KubeControllersConfiguration" };

/** @throws DatastoreError where blocks, affinities, handles, pools or configurations may not be read */
export async function takeFromCluster(source: ClusterSource, options: TakeOptions): Promise<Snapshot> {
  const takenAt = options.now().toISOString();
  const reading = new Reading(source, options);
  const ipam = {
    blocks: await reading.kind("IPAMBlock"),
    affinities: await reading.kind("BlockAffinity"),
    handles: await reading.kind("IPAMHandle"),
    configurations: await reading.kind("IPAMConfiguration"),
    pools: await reading.kind("IPPool"),
    reservations: (await reading.part("reservations", () => reading.kind("IPReservation"))) ?? [],
  };
  const cluster = {
    nodes: await reading.part("nodes", () => reading.list(NODES, nodeFacts)),
    namespaces: await reading.part("namespaces", () => reading.list(NAMESPACES, namespaceFacts)),
    pods: await reading.part("pods", () => reading.list(PODS, podFacts)),
    ...(ipam.blocks.some(isForVm) && { vms: await reading.part("vms", () => reading.vms()) }),
    services: await reading.part("services", () => reading.list(SERVICES, serviceFacts)),
    clusterInformation: await reading.part("clusterInformation", () =>
      reading.calico(INFORMATION, clusterInformationFacts),
    ),
    controllers: await reading.part("controllers", () => reading.calico(CONTROLLERS, controllersFacts)),
    ...(await foreignIpamOf(reading)),
    events: await reading.part("events", () => reading.list(EVENTS, eventFacts, SANDBOX_FAILED)),
  };
  return { takenAt, datastore: apiGroups[source.flavour], ...ipam, ...cluster, ...reading.gaps };
}

/** That Calico's operator is not installed says nothing, and is no gap. */
async function foreignIpamOf(reading: Reading): Promise<Pick<Snapshot, "foreignIpam">> {
  const installations = await reading.part("calicoInstallation", () => reading.ifServed(calicoInstallationResource));
  const type = foreignIpam(installations ?? []);
  return type === undefined ? {} : { foreignIpam: type };
}

/** Whether an address of the block is allocated to a KubeVirt VM: only then are VMs worth a request. */
function isForVm({ spec }: IPAMBlock): boolean {
  return spec.attributes.some(({ secondary, alternateOwnerAttrs }) =>
    [secondary, alternateOwnerAttrs].some((attributes) => attributes?.["vmi-name"] !== undefined),
  );
}

/** One pass over the cluster, and what it could not read. */
export class Reading {
  readonly gaps = { malformed: [] as Malformed[], unread: [] as Unread[] };
  readonly #source: ClusterSource;
  readonly #options: TakeOptions;

  constructor(source: ClusterSource, options: TakeOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** All objects of an IPAM kind, also those marked as deleted. */
  async kind<K extends IpamKind>(kind: K): Promise<V3<K>[]> {
    const { flavour, client } = this.#source;
    const { resource, read } = codecOf(flavour, kind);
    try {
      return await this.list(resource, (wire) => lean<K>(read(wire)));
    } catch (error) {
      throw await withMove(error, flavour, client);
    }
  }

  /** What `read` makes of each object. One that it cannot read is named, and hides no other. */
  async list<T>(
    resource: ResourceType,
    read: (object: KubeObject) => T | undefined,
    query: KubeListOptions = {},
  ): Promise<T[]> {
    const { signal, progress } = this.#options;
    progress?.(resource.plural);
    const transform = (object: KubeObject) => readOrUnreadable(resource.kind, object, read);
    const { items } = await this.#call(resource, (client) => client.list(resource, { ...query, signal, transform }));
    this.gaps.malformed.push(...items.filter((item) => item instanceof Unreadable));
    return items.filter((item): item is Awaited<T> => item !== undefined && !(item instanceof Unreadable));
  }

  /** The one object, `default`, of a kind of Calico's; undefined where there is none, or the kind is not installed. */
  async calico<T>(kind: { plural: string; kind: string }, read: (object: KubeObject) => T): Promise<T | undefined> {
    const { group, version } = codecOf(this.#source.flavour, "IPPool").resource;
    const query = { fieldSelector: "metadata.name=default" };
    const found = await unlessNotServed(this.list({ ...kind, group, version }, read, query));
    return found[0];
  }

  /** Whole objects of a kind that few clusters have; none where it is not served. */
  async ifServed(resource: ResourceType): Promise<KubeObject[]> {
    return unlessNotServed(this.list(resource, (object) => object));
  }

  /** Names of VMs, and of VM instances, which can be without a VM. */
  async vms(): Promise<VmFacts[]> {
    return [...(await this.list(VMS, vmFacts)), ...(await this.list(VM_INSTANCES, vmFacts))];
  }

  /** What is good to have: where it may not be read or is not served, that is told and the rest goes on. */
  async part<T>(part: Unread["part"], read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isDatastoreError(error, "Unauthorized", "NotServed")) throw error;
      this.gaps.unread.push({ part, reason: error.message });
      return undefined;
    }
  }

  async #call<T>(resource: ResourceType, call: (client: KubeClient) => Promise<T>): Promise<T> {
    try {
      return await call(this.#source.client);
    } catch (error) {
      throw datastoreError(error, resource, "");
    }
  }
}

/** A kind that is not installed has no objects: that is no gap. */
async function unlessNotServed<T>(listed: Promise<T[]>): Promise<T[]> {
  try {
    return await listed;
  } catch (error) {
    if (!isDatastoreError(error, "NotServed")) throw error;
    return [];
  }
}

class Unreadable implements Malformed {
  readonly kind: string;
  readonly name: string;
  readonly reason: string;

  constructor(kind: string, name: string, reason: string) {
    this.kind = kind;
    this.name = name;
    this.reason = reason;
  }
}

function readOrUnreadable<T>(kind: string, object: KubeObject, read: (object: KubeObject) => T): T | Unreadable {
  try {
    return read(object);
  } catch (error) {
    return new Unreadable(kind, object.metadata.name, (error as Error).message);
  }
}
