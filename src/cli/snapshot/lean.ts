/** What is kept of a stored IPAM object: everything but bookkeeping of the API server that nothing here reads. */
import type { ObjectMeta } from "../../api/meta.ts";
import type { IpamKind, V3 } from "../../api/v3.ts";

const KEPT: ReadonlySet<string> = new Set<keyof ObjectMeta>([
  "name",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "generation",
  "labels",
]);

/** The object with the metadata that revisions, ages and labels are read from. No annotation leaves the cluster. */
export function lean<K extends IpamKind>(object: V3<K>): V3<K> {
  const fields = Object.entries(object.metadata);
  const kept = fields.filter(([name]) => KEPT.has(name));
  return kept.length === fields.length ? object : { ...object, metadata: Object.fromEntries(kept) as ObjectMeta };
}
