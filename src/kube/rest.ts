/** The Kubernetes REST interface over a transport: paths, parameters and content types, paged lists, watches. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { KubeObject } from "../api/meta.ts";
import { type Check, isDeletionOf, isListOf, isObjectOf, parsedAnswer } from "./answers.ts";
import { type CredentialsOptions, loadCredentials } from "./credentials.ts";
import { printJson } from "./json.ts";
import { LARGEST_PAGE } from "./limits.ts";
import { actionText, collectionPath, objectPath, withQuery } from "./paths.ts";
import { type Answer, type Call, createTransport, type Transport, type TransportOptions } from "./transport.ts";
import {
  isKubeError,
  type KubeClient,
  type KubeList,
  type KubeListOptions,
  type KubeWatchEvent,
  type KubeWatchOptions,
  type PatchType,
  type RequestOptions,
  type ResourceType,
  type Transform,
  type WriteOptions,
} from "./types.ts";
import { watchCollection } from "./watch.ts";

export interface ClientOptions {
  /** Name of our writes in managedFields. Default `ipam-operator`. */
  readonly fieldManager?: string | undefined;
}

const PAGE = 500;
const JSON_TYPE = { accept: "application/json", "content-type": "application/json" };
const METADATA_LIST = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PATCH_CONTENT: Readonly<Record<PatchType, string>> = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

/** Connects to the cluster of a kubeconfig or of this pod; the first request is sent by the first call. */
export async function connect(options: CredentialsOptions & TransportOptions & ClientOptions): Promise<KubeClient> {
  return createKubeClient(createTransport(await loadCredentials(options), options), options);
}

/** The client over a transport, which it closes when it is closed. */
export function createKubeClient(transport: Transport, options: ClientOptions = {}): KubeClient {
  return new RestClient(transport, options.fieldManager ?? "ipam-operator");
}

interface ListBody<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

class RestClient implements KubeClient {
  readonly server: string;
  readonly #transport: Transport;
  readonly #fieldManager: string;

  constructor(transport: Transport, fieldManager: string) {
    this.server = transport.server;
    this.#transport = transport;
    this.#fieldManager = fieldManager;
  }

  get<T extends KubeObject>(type: ResourceType, name: string, options: RequestOptions = {}): Promise<T> {
    const path = objectPath(type, name, options.namespace);
    return this.#call(
      { method: "GET", path, action: actionText("get", type, name, options.namespace), repeat: "read" },
      options,
      isObjectOf(type, name),
    );
  }

  async list<T extends KubeObject, R = T>(
    type: ResourceType,
    options: KubeListOptions & Transform<T, R> = {},
  ): Promise<KubeList<R>> {
    let { limit = PAGE } = options;
    for (let expired = 0; ; ) {
      try {
        return await this.#pages(type, { ...options, limit });
      } catch (error) {
        // The continue token has expired, or the objects are large: from the start, the latter in smaller pages.
        if (isKubeError(error, "TooLarge") && limit > 1) limit = Math.ceil(limit / 10);
        else if (!isKubeError(error, "Expired") || expired++ > 0) throw error;
      }
    }
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<T> {
    const namespace = options.namespace ?? object.metadata.namespace;
    const path = withQuery(collectionPath(type, namespace), this.#writeQuery(options));
    const { name } = object.metadata;
    const action = actionText("create", type, name, namespace);
    const call = { method: "POST", path, action, repeat: "create", body: printJson(object) } as const;
    return this.#call(call, options, isObjectOf(type, name));
  }

  update<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(type, object, options, undefined);
  }

  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(type, object, options, "status");
  }

  patch<T extends KubeObject>(
    type: ResourceType,
    name: string,
    patch: unknown,
    options: WriteOptions & { readonly type: PatchType; readonly subresource?: string; readonly force?: boolean },
  ): Promise<T> {
    const query = { ...this.#writeQuery(options), force: options.type === "apply" ? options.force : undefined };
    const path = withQuery(objectPath(type, name, options.namespace, options.subresource), query);
    const action = actionText(options.type === "apply" ? "apply" : "patch", type, name, options.namespace);
    const headers = { "content-type": PATCH_CONTENT[options.type] };
    const call = { method: "PATCH", path, action, repeat: "write", body: printJson(patch), headers } as const;
    return this.#call(call, options, isObjectOf(type, name));
  }

  async delete(
    type: ResourceType,
    name: string,
    options: RequestOptions & { readonly uid?: string; readonly resourceVersion?: string } = {},
  ): Promise<void> {
    const { uid, resourceVersion, namespace } = options;
    const path = objectPath(type, name, namespace);
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    const body = printJson({ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background", preconditions });
    const action = actionText("delete", type, name, namespace);
    await this.#call({ method: "DELETE", path, action, repeat: "write", body }, options, isDeletionOf(type));
  }

  watch<T extends KubeObject>(type: ResourceType, options: KubeWatchOptions): AsyncIterable<KubeWatchEvent<T>> {
    return watchCollection<T>(this.#transport, type, options);
  }

  async getRaw(path: string, options: RequestOptions = {}): Promise<unknown> {
    const question = { method: "GET", path, action: `get ${path}`, server: this.server } as const;
    return this.#transport.request({
      ...question,
      repeat: "read",
      headers: { accept: "application/json, */*" },
      signal: options.signal,
      timeoutMs: options.timeoutMs,
      read: ({ contentType, text }) => (contentType.includes("json") ? parsedAnswer(question, text) : text),
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #put<T extends KubeObject>(
    type: ResourceType,
    object: T,
    options: WriteOptions,
    subresource: string | undefined,
  ): Promise<T> {
    const { name } = object.metadata;
    const namespace = options.namespace ?? object.metadata.namespace;
    const path = withQuery(objectPath(type, name, namespace, subresource), this.#writeQuery(options));
    const action = actionText(subresource ? "update the status of" : "update", type, name, namespace);
    const call = { method: "PUT", path, action, repeat: "write", body: printJson(object) } as const;
    return this.#call(call, options, isObjectOf(type, name));
  }

  #writeQuery({ fieldManager = this.#fieldManager, dryRun }: WriteOptions) {
    return { fieldManager, dryRun: dryRun ? "All" : undefined };
  }

  async #pages<T extends KubeObject, R>(
    type: ResourceType,
    options: KubeListOptions & Transform<T, R>,
  ): Promise<KubeList<R>> {
    const { transform = (item) => item as unknown as R } = options;
    const items: R[] = [];
    let page = await this.#page<T>(type, options, undefined);
    const { resourceVersion } = page.metadata;
    for (;;) {
      for (const item of page.items ?? []) items.push(transform(withType(item, type)));
      if (!page.metadata.continue) return { items, resourceVersion };
      await nextTurn(); // a list of 12 MB takes a second to parse: let others have their turn between pages
      page = await this.#page<T>(type, options, page.metadata.continue);
    }
  }

  #page<T>(type: ResourceType, options: KubeListOptions, token: string | undefined): Promise<ListBody<T>> {
    const { labelSelector, fieldSelector, limit, metadataOnly } = options;
    const path = withQuery(collectionPath(type, options.namespace), {
      labelSelector,
      fieldSelector,
      limit,
      continue: token,
    });
    const headers = { accept: metadataOnly ? `application/json;${METADATA_LIST}` : "application/json" };
    const call = { method: "GET", path, action: actionText("list", type), repeat: "read", headers } as const;
    return this.#call({ ...call, largest: LARGEST_PAGE }, options, isListOf(type));
  }

  #call<T>(call: Call, { signal, timeoutMs }: RequestOptions, check: Check): Promise<T> {
    const headers = { ...JSON_TYPE, ...call.headers };
    const question = { ...call, server: this.server };
    const read = ({ text }: Answer) => parsedAnswer(question, text, check) as T;
    return this.#transport.request({ ...call, headers, signal, timeoutMs, read });
  }
}

/** Items of a list of a built-in kind come without apiVersion and kind. */
function withType<T extends KubeObject>(item: T, type: ResourceType): T {
  if (item.apiVersion && item.kind) return item;
  const apiVersion = type.group ? `${type.group}/${type.version}` : type.version;
  return { ...item, apiVersion: item.apiVersion ?? apiVersion, kind: item.kind ?? type.kind };
}
