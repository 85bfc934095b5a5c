/**
 * The datastore contract. Everything above it speaks v3 objects; every write is compare-and-swap by the revision
 * (`metadata.resourceVersion`) that the caller read. Backends: `embedded.ts`, `kubernetes.ts` (v1 and v3 flavours);
 * `contract/` is the suite all of them pass.
 */
import type { Installation } from "../api/installation.ts";
import type { IpamKind, V3 } from "../api/v3.ts";

/** Kinds kept in a datastore: the six IPAM kinds, and the user's Installation. */
export type Kind = IpamKind | "Installation";
export type Stored<K extends Kind> = K extends IpamKind ? V3<K> : Installation;

export interface CallOptions {
  /** Cancels the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}
export interface ListOptions extends CallOptions {
  /** Equality label selector: all must match. */
  readonly labels?: Readonly<Record<string, string>>;
}
export interface WatchOptions extends CallOptions {
  readonly signal: AbortSignal;
  /**
   * Revision of the list that the watch goes on from; where its changes are no longer kept, the watch ends in Expired.
   * Without it the watch starts with an `Added` per stored object, and lists again by itself.
   */
  readonly revision?: string;
}

/** A list, its objects sorted by name, and the store's revision it is true at. */
export interface Listed<K extends Kind> {
  readonly items: readonly Stored<K>[];
  readonly revision: string;
  /** Objects that could not be read, by name: one bad object never hides the others. */
  readonly malformed: readonly { readonly name: string; readonly reason: string }[];
}

export interface DatastoreEvent<K extends Kind> {
  readonly type: "Added" | "Modified" | "Deleted";
  readonly object: Stored<K>;
}

export interface Datastore {
  /** Where the data is, for people and for status: `projectcalico.org/v3`, `crd.projectcalico.org/v1` or `embedded`. */
  readonly description: string;

  /** @throws DatastoreError NotFound — also for a row marked as deleted, whose deletion is finished on the way. */
  get<K extends Kind>(kind: K, name: string, options?: CallOptions): Promise<Stored<K>>;
  /** Rows marked as deleted are left out. A kind that is not served is an error (NotServed), not an empty list. */
  list<K extends Kind>(kind: K, options?: ListOptions): Promise<Listed<K>>;
  /** @throws DatastoreError AlreadyExists, Invalid */
  create<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>>;
  /**
   * Replaces the object at `metadata.resourceVersion`, which is required.
   * @throws DatastoreError Conflict (someone wrote in between), NotFound (gone, or replaced under another UID), Invalid
   */
  update<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>>;
  /** Replaces only the status; the spec stays as it is stored. Installation only. */
  updateStatus(object: Installation, options?: CallOptions): Promise<Installation>;
  /**
   * Deletes exactly the object that was read (UID and revision). Blocks, affinities and handles are first marked
   * (`deleted`) by compare-and-swap and then removed.
   * @throws DatastoreError Conflict, NotFound
   */
  delete<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<void>;
  /** Changes in order until the signal aborts; resumes by itself after a cut. A soft delete shows as `Deleted`. */
  watch<K extends Kind>(kind: K, options: WatchOptions): AsyncIterable<DatastoreEvent<K>>;
  /** Releases what the store holds (files, connections). */
  close(): Promise<void>;
}

/** Closed list of what a datastore call can end in besides success (datastore error mapping of the reference). */
export type DatastoreErrorCode =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Invalid"
  | "Unauthorized"
  | "NotServed"
  | "Expired"
  | "Unavailable";

/** What went wrong, with which object. `message` is for people: what, where, and what to do. */
export class DatastoreError extends Error {
  override readonly name = "DatastoreError";
  readonly code: DatastoreErrorCode;
  readonly kind: string;
  readonly object: string;

  constructor(code: DatastoreErrorCode, kind: string, object: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.kind = kind;
    this.object = object;
  }
}

/** Whether `error` is a DatastoreError with one of `codes`. */
export function isDatastoreError(error: unknown, ...codes: DatastoreErrorCode[]): error is DatastoreError {
  return error instanceof DatastoreError && (codes.length === 0 || codes.includes(error.code));
}
