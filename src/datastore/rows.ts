/** What every backend knows of the rows it keeps: the mark of deletion, the labels of an affinity, the revision read. */
import { affinityLabels } from "../api/names.ts";
import { SOFT_DELETED_KINDS } from "../api/resources.ts";
import type { BlockAffinity, IpamKind } from "../api/v3.ts";
import { DatastoreError, type Kind, type Stored } from "./datastore.ts";
import { validate } from "./validation.ts";

/** The kinds that are marked as deleted before they are removed. */
export type MarkedKind = (typeof SOFT_DELETED_KINDS)[number];

/** Whether objects of this kind are marked as deleted before they are removed. */
export function isMarkedKind(kind: Kind): kind is MarkedKind {
  return (SOFT_DELETED_KINDS as readonly Kind[]).includes(kind);
}

/** Whether the row's deletion has begun: to readers it is gone. */
export function isMarked(object: Stored<Kind>): boolean {
  return isMarkedKind(object.kind) && (object.spec as { deleted?: boolean }).deleted === true;
}

/** The object with the mark of deletion. */
export function marked<K extends Kind>(object: Stored<K>): Stored<K> {
  return { ...object, spec: { ...object.spec, deleted: true } };
}

/**
 * An affinity always carries the three labels that its spec says; by them a host's affinities are listed.
 * @throws DatastoreError Invalid where its spec cannot be read
 */
export function withOwnLabels<K extends Kind>(object: Stored<K>): Stored<K> {
  if (object.kind !== ("BlockAffinity" satisfies IpamKind)) return object;
  validate(object);
  const { metadata, spec } = object as BlockAffinity;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...affinityLabels(spec) } } };
}

/** The revision that a write replaces. @throws DatastoreError Invalid where the object was never read */
export function revisionOf(object: Stored<Kind>): string {
  const { name, resourceVersion } = object.metadata;
  if (resourceVersion) return resourceVersion;
  const message = `${object.kind} "${name}" has no metadata.resourceVersion: read the object, then write what was read`;
  throw new DatastoreError("Invalid", object.kind, name, message);
}

/** Code unit order of names, the same in every locale. */
export function byName(a: Stored<Kind>, b: Stored<Kind>): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
