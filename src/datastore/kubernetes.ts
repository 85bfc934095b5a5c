/**
 * The datastore over a Kubernetes API server. v1 and v3 clusters differ in a table (`flavours.ts`); every write is a POST,
 * a PUT at the revision read or a DELETE with preconditions; only a status may be patched, over the status that was read.
 */
import type { Installation } from "../api/installation.ts";
import type { KubeObject } from "../api/meta.ts";
import { installationResource, type Resource } from "../api/resources.ts";
import { type Glance, glance, named } from "../kube/glance.ts";
import type { KubeClient, WriteOptions } from "../kube/types.ts";
import {
  type CallOptions,
  type Datastore,
  DatastoreError,
  type DatastoreEvent,
  isDatastoreError,
  type Kind,
  type Listed,
  type ListedName,
  type ListOptions,
  type Malformed,
  type NodeSource,
  type StatusOptions,
  type Stored,
  type WatchOptions,
} from "./datastore.ts";
import { apiGroups, type Codec, codecOf, type Flavour } from "./flavours.ts";
import { datastoreError } from "./kubernetes-errors.ts";
import { clusterNodes } from "./kubernetes-nodes.ts";
import { watchRows } from "./kubernetes-watch.ts";
import { withMove } from "./moved.ts";
import { byName, isMarked, isMarkedKind, marked, revisionOf, withOwnLabels } from "./rows.ts";
import { patchStatus } from "./status-patch.ts";

export interface KubernetesOptions {
  readonly client: KubeClient;
  readonly flavour: Flavour;
  /** Run by `close`. Default: nothing, the client stays its owner's. */
  readonly release?: () => Promise<void>;
}

/** Names are small: see docs/decisions/0015 for the measurement. */
const NAMES_PER_PAGE = 5000;

/** The datastore of a cluster whose IPAM data is in the API group of `flavour`. */
export function openKubernetes(options: KubernetesOptions): Datastore {
  return new KubernetesDatastore(options);
}

class KubernetesDatastore implements Datastore {
  readonly description: string;
  readonly nodes: NodeSource;
  readonly #options: KubernetesOptions;
  readonly #client: KubeClient;

  constructor(options: KubernetesOptions) {
    this.description = apiGroups[options.flavour];
    this.#options = options;
    this.#client = options.client;
    this.nodes = clusterNodes(options.client);
  }

  async get<K extends Kind>(kind: K, name: string, options?: CallOptions): Promise<Stored<K>> {
    const object = await this.#call(kind, name, async ({ resource, read }) =>
      read(await this.#client.get<KubeObject>(resource, name, options)),
    );
    if (isMarked(object)) await this.#finish(object, options);
    else return object;
    throw new DatastoreError("NotFound", kind, name, `${kind} "${name}" does not exist: it was being deleted`);
  }

  list<K extends Kind>(kind: K, options: ListOptions = {}): Promise<Listed<K>> {
    const { signal, labels = {} } = options;
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
    return this.#call(kind, "", async (codec) => {
      const list = await this.#client.list(codec.resource, {
        ...(signal && { signal }),
        ...(labelSelector && { labelSelector }),
      });
      return { ...readAll(codec, list.items), revision: list.resourceVersion };
    });
  }

  listNames(kind: Kind, { signal }: CallOptions = {}): Promise<readonly ListedName[]> {
    return this.#call(kind, "", async ({ resource }) => {
      const { items } = await this.#client.list(resource, {
        ...(signal && { signal }),
        metadataOnly: true,
        limit: NAMES_PER_PAGE,
        transform: ({ metadata: { name } }): ListedName => ({ name }),
      });
      return items;
    });
  }

  glance(kind: Kind, name: string, { signal }: CallOptions = {}): Promise<Glance> {
    return this.#call(kind, name, ({ resource }) =>
      glance(this.#client, resource, { fieldSelector: named(name), ...(signal && { signal }) }),
    );
  }

  create<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#call(object.kind as K, object.metadata.name, async ({ resource, read, write }) => {
      const { resourceVersion: _revision, uid: _uid, ...metadata } = object.metadata;
      const wire = write(withOwnLabels<K>({ ...object, metadata }));
      return read(await this.#client.create(resource, wire, options));
    });
  }

  update<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#update(object, { ...options });
  }

  rehearse<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    return this.#update(object, { ...options, dryRun: true });
  }

  #update<K extends Kind>(object: Stored<K>, options: WriteOptions): Promise<Stored<K>> {
    return this.#call(object.kind as K, object.metadata.name, async ({ resource, read, write }) => {
      revisionOf(object);
      const wire = write(withOwnLabels(withoutManagers(object)));
      return read(await this.#client.update(resource, wire, options));
    });
  }

  updateStatus(object: Installation, { onto, ...options }: StatusOptions = {}): Promise<Installation> {
    return this.#call("Installation", object.metadata.name, async ({ resource, read }) => {
      revisionOf(object);
      if (onto) return read(await patchStatus(this.#client, resource, object, onto.status, options));
      return read(await this.#client.updateStatus(resource, withoutManagers(object), options));
    });
  }

  async delete<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<void> {
    revisionOf(object);
    if (!isMarkedKind(object.kind) || isMarked(object)) return this.#remove(object, options);
    const gone = await this.update(marked(object), options);
    await this.#remove(gone, options).catch((error: unknown) => {
      if (!isDatastoreError(error, "NotFound")) throw error; // our mark was the deletion; whoever met it finished it
    });
  }

  async *watch<K extends Kind>(kind: K, options: WatchOptions): AsyncGenerator<DatastoreEvent<K>> {
    const codec = codecOf(this.#options.flavour, kind);
    try {
      yield* watchRows({ client: this.#client, codec, ...options });
    } catch (error) {
      if (!options.signal.aborted) throw await this.#failure(error, codec.resource, "");
    }
  }

  async close(): Promise<void> {
    await this.#options.release?.();
  }

  /** Ends a deletion that was begun. A role that may not delete leaves it to those who may. */
  async #finish(object: Stored<Kind>, options?: CallOptions): Promise<void> {
    try {
      await this.#remove(object, options);
    } catch (error) {
      if (!isDatastoreError(error, "Unauthorized", "NotFound")) throw error;
    }
  }

  #remove<K extends Kind>({ kind, metadata }: Stored<K>, options?: CallOptions): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    return this.#call(kind, name, ({ resource }) =>
      this.#client.delete(resource, name, { ...options, ...preconditions }),
    );
  }

  async #call<K extends Kind, T>(kind: K, name: string, call: (codec: Codec<K>) => Promise<T>): Promise<T> {
    const codec = codecOf(this.#options.flavour, kind);
    try {
      return await call(codec);
    } catch (error) {
      throw await this.#failure(error, codec.resource, name);
    }
  }

  async #failure(cause: unknown, resource: Resource, name: string): Promise<unknown> {
    const error = datastoreError(cause, resource, name);
    return resource === installationResource ? error : withMove(error, this.#options.flavour, this.#client);
  }
}

/** Each object for itself: one that cannot be read is named, and hides no other. */
function readAll<K extends Kind>({ read }: Codec<K>, wires: readonly KubeObject[]): Omit<Listed<K>, "revision"> {
  const items: Stored<K>[] = [];
  const malformed: Omit<Malformed, "kind">[] = [];
  for (const wire of wires) {
    try {
      items.push(read(wire));
    } catch (error) {
      const { name, resourceVersion = "" } = wire.metadata;
      malformed.push({ name, reason: (error as Error).message, resourceVersion });
    }
  }
  return { items: items.filter((item) => !isMarked(item)).sort(byName), malformed };
}

/** The server keeps managedFields by itself; sending them back only costs. */
function withoutManagers<K extends Kind>(object: Stored<K>): Stored<K> {
  const { managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, metadata };
}
