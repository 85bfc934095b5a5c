/** The nodes of a cluster: read one at a time, or followed by a watch of their metadata. */
import pino from "pino";
import type { KubeObject } from "../api/meta.ts";
import type { Labelled } from "../api/selector-node.ts";
import { createReflector } from "../kube/reflector.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../kube/types.ts";
import type { FollowedNodes, FollowOptions, NodeSource } from "./datastore.ts";
import { datastoreError } from "./kubernetes-errors.ts";

const NODES: ResourceType = { group: "", version: "v1", plural: "nodes", kind: "Node" };

/** The nodes of the client's cluster. */
export function clusterNodes(client: KubeClient): NodeSource {
  const get: NodeSource["get"] = async (name, options) => {
    try {
      return labelsOf(await client.get<KubeObject>(NODES, name, options));
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw datastoreError(error, NODES, name);
    }
  };
  return { get, follow: (options) => follow(client, get, options) };
}

/** While nodes cannot be listed or watched, and where one is not known (yet), the server is asked. */
function follow(client: KubeClient, get: NodeSource["get"], options: FollowOptions): FollowedNodes {
  const { signal, onError, backoff } = options;
  const refused = Promise.withResolvers<void>();
  const reflector = createReflector<KubeObject>({
    client,
    type: NODES,
    metadataOnly: true,
    transform: withoutTheRest,
    log: pino({ level: "silent" }),
    ...(backoff && { backoff }),
    onState: ({ lastError }) => {
      if (lastError === undefined) return;
      if (isKubeError(lastError, "Forbidden", "Unauthorized")) refused.resolve();
      onError?.(datastoreError(lastError, NODES, ""));
    },
    onTaskFailure: ({ error }) => onError?.(error),
  });
  const known = (name: string) => {
    const { synced, lastError } = reflector.state;
    return synced && !lastError && !signal.aborted ? reflector.store.get(name) : undefined;
  };
  return {
    get: async (name, call) => {
      call?.signal?.throwIfAborted();
      return known(name) ?? get(name, call);
    },
    ended: reflector.start(signal),
    synced: () => Promise.race([reflector.synced(), refused.promise]),
  };
}

function labelsOf({ metadata: { labels, annotations } }: KubeObject): Labelled {
  return { metadata: { labels, annotations } };
}

/** Thousands of nodes are held: what the kubelet and the server write beside the labels is not. */
function withoutTheRest({ metadata, ...node }: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels, annotations } = metadata;
  return { ...node, metadata: { name, uid, resourceVersion, labels, annotations } };
}
