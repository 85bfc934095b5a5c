/** From objects of the cluster to what the reconciler must know of them. Pure. */
import type { NodeFacts } from "../../../reconcilers/installation/surroundings.ts";
import type { KubeObject } from "../../api/meta.ts";
import { isRecord } from "../../kube/answers.ts";

interface NodeStatus {
  readonly capacity?: { readonly pods?: unknown };
  readonly nodeInfo?: { readonly operatingSystem?: unknown };
}

/** A Node cut down to what is read of it: a cluster has thousands, with images and conditions that fill memory. */
export function slimNode({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels } = metadata;
  const { capacity, nodeInfo } = (status ?? {}) as NodeStatus;
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...(labels && { labels }) },
    status: { capacity: { pods: capacity?.pods }, nodeInfo: { operatingSystem: nodeInfo?.operatingSystem } },
  };
}

export function nodeFacts({ metadata, status }: KubeObject): NodeFacts {
  const { capacity, nodeInfo } = (status ?? {}) as NodeStatus;
  const labels = metadata.labels ?? {};
  const os = labels["kubernetes.io/os"] ?? nodeInfo?.operatingSystem;
  const pods = Number(capacity?.pods ?? Number.NaN);
  return {
    name: metadata.name,
    labels,
    windows: os === "windows",
    podCapacity: Number.isInteger(pods) ? pods : undefined,
  };
}

/** Calico's lock: set while its data is migrated. Absent means ready. */
export function datastoreLocked(clusterInformation: KubeObject | undefined): boolean {
  return (clusterInformation?.spec as { datastoreReady?: unknown } | undefined)?.datastoreReady === false;
}

/** Fields of `spec` that a definition's version keeps; undefined where it keeps anything, or cannot be seen. */
export function servedFields(definition: KubeObject, version: string): ReadonlySet<string> | undefined {
  return fieldsOf(specOf(definition, version));
}

/** The same of `spec.attributes[]`, the entries of a block. */
export function servedAttributes(definition: KubeObject, version: string): ReadonlySet<string> | undefined {
  const spec = specOf(definition, version);
  return fieldsOf(spec) && fieldsOf(partOf(partOf(partOf(spec, "properties"), "attributes"), "items"));
}

type Schema = Readonly<Record<string, unknown>>;

/** A part of what comes from outside: empty where it is not an object. */
const partOf = (value: unknown, field: string) => Object((Object(value) as Schema)[field]) as Schema;

function specOf({ spec }: KubeObject, version: string): Schema {
  const { versions } = Object(spec) as { readonly versions?: unknown };
  const served = Array.isArray(versions) ? versions.find((each) => Object(each).name === version) : undefined;
  return partOf(partOf(partOf(served, "schema")["openAPIV3Schema"], "properties"), "spec");
}

function fieldsOf(schema: Schema): ReadonlySet<string> | undefined {
  const { properties } = schema;
  if (!isRecord(properties) || schema["x-kubernetes-preserve-unknown-fields"]) return undefined;
  return new Set(Object.keys(properties));
}
