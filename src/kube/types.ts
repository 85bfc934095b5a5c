/** What the pieces of `kube/` hand to each other. Nothing here, or anywhere in `kube/`, knows of IPAM. */
import type { KubeObject } from "../api/meta.ts";
import { escapeLine } from "../escape.ts";

/** Names one REST collection. `group` is "" for the core group. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced?: boolean;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Whole-call deadline in milliseconds, retries included; of a list, for each page. Default 30 s. */
  readonly timeoutMs?: number;
  readonly namespace?: string;
}
export interface WriteOptions extends RequestOptions {
  /** Name in managedFields. Default: the client's own. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
}
export interface KubeListOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only metadata (PartialObjectMetadata): small for large kinds. */
  readonly metadataOnly?: boolean;
  /** Objects per page; default 500. */
  readonly limit?: number;
}
/** What a list is to keep of each object, applied as the pages arrive: a large collection is never held whole. */
export interface Transform<T extends KubeObject, R> {
  readonly transform?: (object: T) => R;
}
export interface KubeList<T> {
  readonly items: readonly T[];
  /** Revision of the first page: where a watch goes on from. */
  readonly resourceVersion: string;
}
export interface KubeWatchOptions extends KubeListOptions {
  readonly signal: AbortSignal;
  readonly resourceVersion: string;
  /** Ends the watch (KubeError Timeout) when nothing, not even a bookmark, arrives for this long. Default 90 s. */
  readonly idleTimeoutMs?: number;
  /** Asked of the server, seconds; default random 300 to 600. */
  readonly timeoutSeconds?: number;
}
export type KubeWatchEvent<T extends KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export type PatchType = "apply" | "merge" | "json";

/** One cluster's REST interface. Objects go and come as the server has them, losslessly (bigint where a double rounds). */
export interface KubeClient {
  /** URL of the API server, without credentials. */
  readonly server: string;
  get<T extends KubeObject>(type: ResourceType, name: string, options?: RequestOptions): Promise<T>;
  /** Consistent, paged; restarts once when a continue token expires. */
  list<T extends KubeObject, R = T>(
    type: ResourceType,
    options?: KubeListOptions & Transform<T, R>,
  ): Promise<KubeList<R>>;
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    type: ResourceType,
    name: string,
    patch: unknown,
    options: WriteOptions & { readonly type: PatchType; readonly subresource?: string; readonly force?: boolean },
  ): Promise<T>;
  delete(
    type: ResourceType,
    name: string,
    options?: RequestOptions & { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void>;
  /** One watch request; ends on EOF, throws KubeError Expired on 410 and on any other ERROR event. */
  watch<T extends KubeObject>(type: ResourceType, options: KubeWatchOptions): AsyncIterable<KubeWatchEvent<T>>;
  /** Any other GET, parsed: discovery, /readyz, /openapi. */
  getRaw(path: string, options?: RequestOptions): Promise<unknown>;
  close(): Promise<void>;
}

export type KubeErrorCode =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Expired"
  | "Invalid"
  | "UnsupportedMediaType"
  | "TooManyRequests"
  | "ServerError"
  | "Unavailable"
  | "Timeout"
  | "TooLarge"
  | "NoCluster"
  | "KubeconfigNotFound"
  | "KubeconfigInvalid"
  | "ContextNotFound";

/**
 * A failed call. `Unavailable`: no answer (connection refused, reset); the outcome of a write is then unknown. `TooLarge`:
 * the answer is larger than what is read of one. `NoCluster`, `KubeconfigNotFound`, `KubeconfigInvalid` and `ContextNotFound`
 * come before the first request: they are faults of the kubeconfig.
 */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  /** HTTP status, 0 where there was no answer. */
  readonly status: number;
  /** The server's machine-readable reason and details (`Status.reason`, `Status.details`), where it gave them. */
  readonly reason: string;
  readonly details: { readonly causes?: readonly { field?: string; message?: string; reason?: string }[] } | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: KubeErrorCode,
    message: string,
    more: {
      status?: number;
      reason?: string;
      details?: KubeError["details"];
      retryAfterSeconds?: number;
      cause?: unknown;
    } = {},
  ) {
    super(escapeLine(message), more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.reason = more.reason ?? "";
    this.details = more.details;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

/** Whether `error` is a KubeError with one of `codes`. */
export function isKubeError(error: unknown, ...codes: KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}

/** A failure of any other kind as a KubeError, which callers retry. */
export function asKubeError(error: unknown): KubeError {
  return isKubeError(error) ? error : new KubeError("ServerError", String(error), { cause: error });
}
