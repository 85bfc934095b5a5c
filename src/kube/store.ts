/** What a reflector holds: the newest known object of each key, frozen, and the difference each new state makes. */
import type { KubeObject } from "../api/meta.ts";

/** What happened to a key. A key may change again before anyone looks: read the store, not the change. */
export type Change = "added" | "updated" | "deleted";

/** Read side of a reflector. Objects are frozen through and through. */
export interface Store<T extends KubeObject> {
  /** By {@link keyOf}: the name, or `namespace/name`. */
  get(key: string): T | undefined;
  list(): readonly T[];
}

/** `name`, or `namespace/name` of a namespaced object. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

/** A {@link Store} with its write side, which only the reflector has. */
export class ObjectStore<T extends KubeObject> implements Store<T> {
  readonly #objects = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Keeps `object`; undefined when it is the very one already held (a resumed watch may repeat itself). */
  put(object: T): Change | undefined {
    const key = keyOf(object);
    const held = this.#objects.get(key);
    if (held !== undefined && sameRevision(held, object)) return undefined;
    this.#objects.set(key, deepFreeze(object));
    return held === undefined ? "added" : "updated";
  }

  /** Drops a key; undefined when it was not held. */
  drop(key: string): Change | undefined {
    return this.#objects.delete(key) ? "deleted" : undefined;
  }

  /**
   * Takes `objects` as the whole truth and says what that changed; what went away unseen is found here. Where they come from
   * another store, equal revisions say nothing: each counts as changed.
   */
  replace(objects: readonly T[], ofOtherStore = false): Map<string, Change> {
    const changes = new Map<string, Change>();
    if (ofOtherStore) for (const [key, held] of this.#objects) this.#objects.set(key, withoutRevision(held));
    const note = (key: string, change: Change | undefined) => change !== undefined && changes.set(key, change);
    for (const object of objects) note(keyOf(object), this.put(object));
    const present = new Set(objects.map(keyOf));
    for (const key of [...this.#objects.keys()]) if (!present.has(key)) note(key, this.drop(key));
    return changes;
  }
}

/** Both uid and resourceVersion, compared for equality only: an object made anew under its old name is another one. */
function sameRevision(one: KubeObject, other: KubeObject): boolean {
  const { uid, resourceVersion } = one.metadata;
  return (
    resourceVersion !== undefined && resourceVersion === other.metadata.resourceVersion && uid === other.metadata.uid
  );
}

function withoutRevision<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}
