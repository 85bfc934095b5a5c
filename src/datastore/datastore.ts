/**
 * The datastore contract. Everything above it speaks v3 objects; every write is compare-and-swap by the revision
 * (`metadata.resourceVersion`) that the caller read. Backends: `embedded.ts`, `kubernetes.ts` (v1 and v3 flavours);
 * `contract/` is the suite all of them pass.
 */
import type { Installation } from "../api/installation.ts";
import type { Labelled } from "../api/selector-node.ts";
import type { IpamKind, V3 } from "../api/v3.ts";
import { escapeLine } from "../escape.ts";
import type { BackoffOptions } from "../kube/backoff.ts";
import type { Glance } from "../kube/glance.ts";
import type { Cidr } from "../net/cidr.ts";
import type { BlockRef } from "./block-index.ts";

/** Kinds kept in a datastore: the six IPAM kinds, and the user's Installation. */
export type Kind = IpamKind | "Installation";
/** An object of a kind: `Stored<"IPAMBlock">` is an IPAMBlock. Given an object, TypeScript sees `K` by its `kind`. */
export type Stored<K extends Kind> = K extends IpamKind
  ? V3<K> & { readonly kind: K }
  : Installation & { readonly kind: K };

/** What every call takes. */
export interface CallOptions {
  /** Cancels the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Reads ask the store itself, where a cache would answer with what its watches have delivered. Default false. */
  readonly fresh?: boolean | undefined;
}

/** How a status is written. */
export interface StatusOptions extends CallOptions {
  /**
   * The stored status that the new one was computed from. With it, only another status is a Conflict: metadata and spec may have
   * been edited since. Without it, the object must be at its revision.
   */
  readonly onto?: { readonly status: Installation["status"] } | undefined;
}

/** Which objects to list. */
export interface ListOptions extends CallOptions {
  /** Equality label selector: all must match. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * False: no watch continues from this list. A cache may then answer without a request, with this process's own writes newer than
   * the rest. Default true: all objects are as they were at the list's revision.
   */
  readonly atOneRevision?: boolean | undefined;
}
/** How current an answer about overlapping blocks must be. */
export interface OverlapOptions extends CallOptions {
  /**
   * A stored block: the answer has every block that was stored before it. A cache waits for its watch to deliver it, at most
   * a second.
   */
  readonly after?: Stored<"IPAMBlock"> | undefined;
}
/** An object without its content. */
export interface ListedName {
  /** Its name. */
  readonly name: string;
}
/** Where a watch begins, and what it reports besides changes. */
export interface WatchOptions extends CallOptions {
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /**
   * Revision of the list that the watch continues from; if the changes since then are no longer kept, the watch ends in Expired.
   * Without it the watch starts with an `Added` per stored object, and lists again by itself.
   */
  readonly revision?: string | undefined;
  /** Called for each object that the watch skips because it cannot be read. */
  readonly onMalformed?: ((malformed: Malformed) => void) | undefined;
  /** Called when the watch was interrupted: changes are not delivered until it resumes. */
  readonly onCut?: (() => void) | undefined;
  /** Called before an interrupted watch resumes where it was; false ends it in Expired. Default: it resumes. */
  readonly mayResume?: (() => Promise<boolean>) | undefined;
}

/** An object that cannot be read, and why. */
export interface Malformed {
  /** Its kind. */
  readonly kind: string;
  /** Its name. */
  readonly name: string;
  /** A sentence: which field, and what is wrong with it. */
  readonly reason: string;
  /** The revision that could not be read: an update at it replaces the malformed object. */
  readonly resourceVersion?: string | undefined;
}

/** A list, its objects sorted by name, and the store's revision it is true at. */
export interface Listed<K extends Kind> {
  /** Sorted by name. */
  readonly items: readonly Stored<K>[];
  /** Where a watch can continue from. */
  readonly revision: string;
  /** Objects that could not be read, by name: one bad object never hides the others. */
  readonly malformed: readonly Omit<Malformed, "kind">[];
}

/** One change that a watch delivers. */
export interface DatastoreEvent<K extends Kind> {
  /** What happened to it. */
  readonly type: "Added" | "Modified" | "Deleted";
  /** The object after the change; for a deletion, its last state. */
  readonly object: Stored<K>;
}

/** The nodes of a cluster, as far as pools are selected by them. */
export interface NodeSource {
  /**
   * The node's labels and annotations; undefined where there is no node of that name.
   * @throws DatastoreError Unauthorized, saying what to grant; Unavailable
   */
  get(name: string, options?: CallOptions): Promise<Labelled | undefined>;
  /** Keeps all nodes in memory until `signal` aborts, so that reading a node takes no request. */
  follow(options: FollowOptions): FollowedNodes;
}

/** How nodes are followed. */
export interface FollowOptions {
  /** Ends it; nodes are then read from the server. */
  readonly signal: AbortSignal;
  /** Called with the reason when nodes cannot be listed or watched; they are read from the server meanwhile. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Delay between attempts to list and watch. Default 0.8 s doubling to 30 s. */
  readonly backoff?: BackoffOptions | undefined;
}

/** Nodes that are followed. */
export interface FollowedNodes {
  /** As {@link NodeSource.get}. A node that is not known yet is asked for. */
  readonly get: NodeSource["get"];
  /** Resolves when all nodes were listed once, or may not be; rejects when it ends before. */
  synced(): Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/**
 * Where IPAM data is kept. Errors are {@link DatastoreError}, and the signal's reason where `options.signal` aborts;
 * besides what a method names, each can end in Unavailable, Unauthorized, NotServed and Invalid.
 */
export interface Datastore {
  /** Where the data is, for people and for status: `projectcalico.org/v3`, `crd.projectcalico.org/v1` or `embedded`. */
  readonly description: string;
  /** Nodes of the data's cluster. A store without a cluster has none: any host may be assigned addresses there. */
  readonly nodes?: NodeSource | undefined;
  /**
   * The blocks that name an owner (`host:node-a`), sorted by name, if the store has all blocks in memory; absent or undefined
   * if only a list of all blocks would tell. Those that cannot be read are left out.
   */
  blocksOf?(affinity: string, options?: CallOptions): readonly Stored<"IPAMBlock">[] | undefined;
  /** The blocks in which a handle has addresses, if a cache has all blocks in memory: no request is sent. */
  blocksOfHandle?(handleID: string): readonly Stored<"IPAMBlock">[] | undefined;
  /**
   * The blocks that share addresses with a range, itself included, where the store has all blocks at hand; absent, or
   * undefined, where only a list of all would tell. Those that cannot be read are among them.
   */
  blocksOverlapping?(range: Cidr, options?: OverlapOptions): Promise<readonly BlockRef[] | undefined>;
  /** Names of all objects of a kind at one revision of the server, those marked as deleted included. Absent: `list` tells. */
  listNames?(kind: Kind, options?: CallOptions): Promise<readonly ListedName[]>;
  /**
   * The revision that the store has reached, and that of one object: a small request. Absent: the store cannot be replaced by
   * an older state of itself unseen.
   */
  glance?(kind: Kind, name: string, options?: CallOptions): Promise<Glance>;
  /** Reads that are not `fresh` may be older than what is stored. Default false. */
  readonly isCached?: boolean | undefined;

  /** One object. @throws DatastoreError NotFound, also for an object marked as deleted, whose deletion is then completed */
  get<K extends Kind>(kind: K, name: string, options?: CallOptions): Promise<Stored<K>>;
  /** All objects of a kind. Objects marked as deleted are left out. A kind that is not served is NotServed, not an empty list. */
  list<K extends Kind>(kind: K, options?: ListOptions): Promise<Listed<K>>;
  /** Stores a new object; the answer has its revision. @throws DatastoreError AlreadyExists, Invalid */
  create<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>>;
  /**
   * Replaces the object at `metadata.resourceVersion`, which is required.
   * @throws DatastoreError Conflict (another writer changed it), NotFound (gone, or replaced under another UID), Invalid
   */
  update<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>>;
  /** What {@link update} would store, without storing it. Absent: every field is stored as it is given. */
  rehearse?<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>>;
  /** Replaces only the status; the spec stays as it is stored. Installation only. */
  updateStatus(object: Installation, options?: StatusOptions): Promise<Installation>;
  /**
   * Deletes exactly the object that was read (UID and revision). Blocks, affinities and handles are first marked
   * (`deleted`) by compare-and-swap and then removed.
   * @throws DatastoreError Conflict, NotFound
   */
  delete<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<void>;
  /** Changes in order until the signal aborts; resumes by itself after an interruption. A soft delete shows as `Deleted`. */
  watch<K extends Kind>(kind: K, options: WatchOptions): AsyncIterable<DatastoreEvent<K>>;
  /** Releases what the store holds (files, connections). */
  close(): Promise<void>;
}

/** Closed list of what a datastore call can end in besides success (datastore error mapping of the reference). */
export type DatastoreErrorCode =
  /** The object does not exist, or was replaced by another one of its name. */
  | "NotFound"
  /** An object of that name exists. */
  | "AlreadyExists"
  /** Another writer changed the object since it was read: read it again, and decide again. */
  | "Conflict"
  /** The object breaks its schema or a rule, as given or as stored; the message names the fields. */
  | "Invalid"
  /** Authentication or permission is missing; the message says what to grant. */
  | "Unauthorized"
  /** No cluster is named: there is no kubeconfig, and this process runs in no pod with a ServiceAccount. */
  | "NoCluster"
  /** A kubeconfig that is named does not exist. */
  | "KubeconfigNotFound"
  /** A kubeconfig cannot be read, is not one, or names a cluster or user that it does not have. */
  | "KubeconfigInvalid"
  /** The kubeconfig has no context of that name, or no current one. */
  | "ContextNotFound"
  /** The API server's certificate is not trusted: it has another authority, another name, or has expired. */
  | "UntrustedCertificate"
  /** The cluster has no such kind: the message names the CRD to install. */
  | "NotServed"
  /** The changes since that revision are no longer kept: list again, and watch from there. */
  | "Expired"
  /** No answer, or a temporary failure: retry. Whether a write took place is not known. */
  | "Unavailable";

/** What failed, and for which object. `message` is for people: what, where, and what to do. */
export class DatastoreError extends Error {
  override readonly name = "DatastoreError";
  /** Branch on this, never on the text. */
  readonly code: DatastoreErrorCode;
  /** Kind of the object in question. */
  readonly kind: string;
  /** Its name; "" where all objects of the kind are meant. */
  readonly object: string;
  /** HTTP status of the API server's answer, such as 401 or 403; 0 where there was no answer, or no server. */
  readonly status: number;

  constructor(code: DatastoreErrorCode, kind: string, object: string, message: string, options?: ErrorOptions) {
    super(escapeLine(String(message)), options);
    this.code = code;
    this.kind = kind;
    this.object = object;
    const { status } = Object(options?.cause) as { readonly status?: unknown };
    this.status = typeof status === "number" ? status : 0;
  }
}

/** Whether `error` is a DatastoreError with one of `codes`. */
export function isDatastoreError(error: unknown, ...codes: DatastoreErrorCode[]): error is DatastoreError {
  return error instanceof DatastoreError && (codes.length === 0 || codes.includes(error.code));
}
