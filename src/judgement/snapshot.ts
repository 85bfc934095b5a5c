/**
 * Everything that judging and showing look at, as it was at one moment. A value: read from a cluster, from an embedded
 * store or from a bundle, and the same whichever it was. Kept lean: a large cluster has half a million addresses.
 */
import type { BlockAffinity, IPAMBlock, IPAMConfiguration, IPAMHandle, IPPool, IPReservation } from "../api/v3.ts";
import type {
  ClusterInformationFacts,
  ControllersFacts,
  EventFacts,
  NamespaceFacts,
  NodeFacts,
  PodFacts,
  ServiceFacts,
  VmFacts,
} from "./facts.ts";

export interface Snapshot {
  /** When reading began: RFC 3339 in UTC, with milliseconds. */
  readonly takenAt: string;
  /** Where the data is kept: `projectcalico.org/v3`, `crd.projectcalico.org/v1` or `embedded`. */
  readonly datastore: string;

  /** Of these three also the rows marked as deleted, whose removal nobody finished. */
  readonly blocks: readonly IPAMBlock[];
  readonly affinities: readonly BlockAffinity[];
  readonly handles: readonly IPAMHandle[];
  /** Every object of the kind, though only `default` is read by anybody. */
  readonly configurations: readonly IPAMConfiguration[];
  readonly pools: readonly IPPool[];
  readonly reservations: readonly IPReservation[];

  /** What only a cluster has. Undefined: not looked at, or not to be read; `unread` then says why. */
  readonly nodes?: readonly NodeFacts[];
  readonly namespaces?: readonly NamespaceFacts[];
  readonly pods?: readonly PodFacts[];
  /** KubeVirt VMs and VM instances; looked at only where an address is allocated to one. */
  readonly vms?: readonly VmFacts[];
  /** Services of type LoadBalancer. */
  readonly services?: readonly ServiceFacts[];
  readonly clusterInformation?: ClusterInformationFacts;
  readonly controllers?: ControllersFacts;
  /** The IPAM that Calico's operator is told to use where that is not Calico's: it gives out no addresses then. */
  readonly foreignIpam?: string;
  /** Events of pods whose sandbox, and with it their address, could not be made. */
  readonly events?: readonly EventFacts[];

  /** Stored objects that cannot be read. */
  readonly malformed: readonly Malformed[];
  /** Parts that could not be looked at. */
  readonly unread: readonly Unread[];
}

/** A stored object that its schema refuses. */
export interface Malformed {
  readonly kind: string;
  readonly name: string;
  readonly reason: string;
}

/** A part that may not be read, or is not served. */
export interface Unread {
  readonly part: string;
  /** A sentence: what was refused or is not served, and what to do. */
  readonly reason: string;
}

/** Nothing at all, at a moment: what tests and bundles start from. */
export function emptySnapshot(takenAt: string, datastore = "embedded"): Snapshot {
  return {
    takenAt,
    datastore,
    blocks: [],
    affinities: [],
    handles: [],
    configurations: [],
    pools: [],
    reservations: [],
    malformed: [],
    unread: [],
  };
}
