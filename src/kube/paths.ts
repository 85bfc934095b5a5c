/** URLs of the Kubernetes REST interface, and the words for what is being done. Pure. */
import type { ResourceType } from "./types.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path of a collection: `/apis/projectcalico.org/v3/ippools`. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}

/**
 * Path of an object, or of one of its subresources.
 * @throws TypeError for a namespaced type without a namespace
 */
export function objectPath(type: ResourceType, name: string, namespace?: string, subresource?: string): string {
  if (type.namespaced && !namespace) throw new TypeError(`${type.kind} "${name}" needs a namespace`);
  const tail = subresource ? `/${subresource}` : "";
  return `${collectionPath(type, namespace)}/${encodeURIComponent(name)}${tail}`;
}

/** Adds a query; what is undefined is left out. */
export function withQuery(path: string, query: Query): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined);
  if (present.length === 0) return path;
  return `${path}?${new URLSearchParams(present.map(([key, value]) => [key, String(value)]))}`;
}

/** What is being done, for messages: `get Lease "ns/name"`. */
export function actionText(verb: string, type: ResourceType, name?: string, namespace?: string): string {
  if (name === undefined) return `${verb} ${type.plural}`;
  return `${verb} ${type.kind} "${type.namespaced && namespace ? `${namespace}/` : ""}${name}"`;
}
