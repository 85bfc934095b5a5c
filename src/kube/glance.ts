/**
 * One small look at a collection: the store's revision, and one object's. It tells whether the store is still the one that
 * was read: one that was restored from a backup starts again at the backup's revision, and then gives the same numbers to
 * other writes. Revisions are compared only within what one store holds.
 */
import type { KubeObject } from "../api/meta.ts";
import type { KubeClient, RequestOptions, ResourceType } from "./types.ts";

/** What tells one state of an object from every other. */
export interface ObjectState {
  /** `metadata.uid`. */
  readonly uid?: string | undefined;
  /** `metadata.resourceVersion`. */
  readonly resourceVersion?: string | undefined;
}

/** What is stored now, or what was read before. */
export interface Glance {
  /** Of the store; undefined: not known. */
  readonly revision: string | undefined;
  /** Of the object that was asked for, or that changed last; undefined: there is none. */
  readonly object: ObjectState | undefined;
}

/** Selects the object of a name. */
export const named = (name: string) => `metadata.name=${name}`;

/** Asks for nothing but revisions. The answer is as new as the request. */
export async function glance(
  client: KubeClient,
  type: ResourceType,
  options: RequestOptions & { readonly fieldSelector: string },
): Promise<Glance> {
  const list = await client.list<KubeObject>(type, { ...options, metadataOnly: true });
  return { revision: list.resourceVersion, object: list.items[0]?.metadata };
}

/**
 * What a look says of what was held before it: all of it is in the store's past (`same`), the object has changed or is gone
 * (`changed`), or the store has not come that far (`older`).
 */
export function compare(held: Glance, seen: Glance): "same" | "changed" | "older" {
  const [before, now] = [held.object, seen.object];
  if (isOlder(seen.revision, held.revision) || isOlder(now?.resourceVersion, before?.resourceVersion)) return "older";
  const isSame = before?.uid === now?.uid && before?.resourceVersion === now?.resourceVersion;
  return before === undefined || isSame ? "same" : "changed";
}

/** Whether a revision comes before another. What is not a number is older than nothing. */
export function isOlder(revision: string | undefined, other: string | undefined): boolean {
  const [one, two] = [numberOf(revision), numberOf(other)];
  return one !== undefined && two !== undefined && one < two;
}

/** The object that was written last. */
export function newestOf<T extends { readonly metadata: ObjectState }>(objects: Iterable<T>): T | undefined {
  let newest: T | undefined;
  for (const object of objects) {
    const isFirst = newest === undefined;
    if (isFirst || isOlder(newest?.metadata.resourceVersion, object.metadata.resourceVersion)) newest = object;
  }
  return newest;
}

function numberOf(revision = ""): bigint | undefined {
  return /^\d+$/.test(revision) ? BigInt(revision) : undefined;
}
