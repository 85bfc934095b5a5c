/** A place that is opened to be changed: a cluster or an embedded store. A bundle is a copy, and cannot be. */
import { calicoInstallationResource, foreignIpam } from "../../api/calico-installation.ts";
import type { KubeObject } from "../../api/meta.ts";
import { type Datastore, isDatastoreError } from "../../datastore/datastore.ts";
import { datastoreError } from "../../datastore/kubernetes-errors.ts";
import { createIpam, type Ipam } from "../../ipam/client.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { isKubeError, type KubeClient } from "../../kube/types.ts";
import type { ClusterPlace, Place } from "../place.ts";
import type { Subject } from "../snapshot/owners-now.ts";
import { UsageError } from "../usage-error.ts";
import { type Lock, readLock } from "./lock.ts";

export interface Workplace {
  readonly datastore: Datastore;
  /** The library over it. */
  readonly ipam: Ipam;
  /** Calico's lock, as it is now. */
  lock(): Promise<Lock>;
  /** What was seen earlier, with the subject and whoever may own its addresses as they are now. */
  ownersNow(earlier: Snapshot, subject: Subject): Promise<Snapshot>;
  /** The IPAM that gives out the cluster's addresses where it is not Calico's. */
  foreignIpam(): Promise<string | undefined>;
  /** Whether the cluster has nodes that need strict affinity; false where nodes may not be read. */
  hasWindowsNodes(): Promise<boolean>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Looks at the whole place again. */
  readonly retake: () => Promise<Snapshot>;
  /** Told of what goes wrong and costs nothing. */
  readonly say: (text: string) => void;
}

/** @throws UsageError for a bundle; what opening the place can end in */
export async function openWorkplace(place: Place, options: OpenOptions): Promise<Workplace> {
  if (place.kind === "bundle") {
    throw new UsageError("a bundle is a copy, and nothing in it can be changed: name the cluster or store itself.");
  }
  return place.kind === "embedded" ? openStore(place.path, options) : openCluster(place, options);
}

async function openStore(path: string, options: OpenOptions): Promise<Workplace> {
  const { openEmbedded } = await import("../../datastore/embedded.ts");
  const datastore = openEmbedded(path, { clock: options.now });
  const lock = async (): Promise<Lock> => ({ state: "none" });
  const close = () => datastore.close();
  const ipam = ipamOn(datastore, options);
  return {
    datastore,
    ipam,
    ownersNow: (earlier) => (hasOwners(earlier) ? options.retake() : Promise.resolve(earlier)),
    lock,
    foreignIpam: async () => undefined,
    hasWindowsNodes: async () => false,
    close,
  };
}

const hasOwners = ({ pods, nodes, services }: Snapshot) => [pods, nodes, services].some((part) => part !== undefined);

async function openCluster(place: ClusterPlace, options: OpenOptions): Promise<Workplace> {
  const [cluster, { ownersNow }, { openKubernetes }] = await Promise.all([
    import("../cluster.ts"),
    import("../snapshot/owners-now.ts"),
    import("../../datastore/kubernetes.ts"),
  ]);
  const { client, flavour } = await cluster.openCluster(place, options);
  const datastore = openKubernetes({ client, flavour });
  const lock = () => readLock(client, flavour, options.signal);
  const hasWindowsNodes = () => anyWindowsNode(client, options.signal);
  const ipam = ipamOn(datastore, options);
  const foreign = () => foreignIpamOf(client, options);
  return {
    datastore,
    ipam,
    ownersNow: (earlier, subject) => ownersNow({ client, flavour }, earlier, subject, options),
    lock,
    foreignIpam: foreign,
    hasWindowsNodes,
    close: () => client.close(),
  };
}

const NODES = { group: "", version: "v1", plural: "nodes", kind: "Node" };

const isWindows = ({ metadata }: KubeObject) => metadata.labels?.["kubernetes.io/os"] === "windows";

async function anyWindowsNode(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const { items } = await client.list(NODES, { signal, transform: isWindows });
    return items.includes(true);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return false;
    throw error;
  }
}

/** Undefined where there is no Calico operator, and where its Installation may not be read, which is told. */
async function foreignIpamOf(client: KubeClient, { signal, say }: OpenOptions): Promise<string | undefined> {
  try {
    const { items } = await client.list<KubeObject>(calicoInstallationResource, { signal });
    return foreignIpam(items);
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    const refused = datastoreError(error, calicoInstallationResource, "");
    if (!isDatastoreError(refused, "Unauthorized")) throw refused;
    say(`not looked at: calicoInstallation (${refused.message})`);
    return undefined;
  }
}

/** Whichever machine this runs on, it is not the host that the addresses are for. */
function ipamOn(datastore: Datastore, { now, say }: OpenOptions): Ipam {
  return createIpam({ datastore, clock: now, windowsHost: false, warn: say });
}
