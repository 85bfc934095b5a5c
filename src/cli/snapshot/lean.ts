/** What is kept of a stored IPAM object: everything but bookkeeping of the API server that nothing here reads. */
import type { ObjectMeta } from "../../api/meta.ts";
import type { IpamKind, V3 } from "../../api/v3.ts";

/** The object with the metadata that revisions, ages and labels are read from. No annotation leaves the cluster. */
export function lean<K extends IpamKind>(object: V3<K>): V3<K> {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp, generation, labels } = object.metadata;
  const metadata: ObjectMeta = {
    name,
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(creationTimestamp && { creationTimestamp }),
    ...(deletionTimestamp && { deletionTimestamp }),
    ...(generation !== undefined && { generation }),
    ...(labels && { labels }),
  };
  return { ...object, metadata };
}

/** Code unit order of names, the same in every locale. */
export function byName(a: { readonly metadata: { readonly name: string } }, b: typeof a): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
