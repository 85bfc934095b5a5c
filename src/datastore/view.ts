/**
 * Turns what happens to rows into what a watcher sees: a row marked as deleted is gone, its later removal is no news,
 * and after a gap the difference between two lists stands in for the events that were missed.
 */
import type { DatastoreEvent, Kind, Stored } from "./datastore.ts";
import { isMarked } from "./rows.ts";

export type RowEvent = "ADDED" | "MODIFIED" | "DELETED";

/** What one watcher has been told of, by name; null: it knows of no such object. */
export class View<K extends Kind> {
  readonly #told = new Map<string, Stored<K> | null>();

  /** The event for one change of a row, if the watcher is to see any. */
  take(type: RowEvent, object: Stored<K>): DatastoreEvent<K> | undefined {
    const { name } = object.metadata;
    const before = this.#told.has(name) ? this.#told.get(name) !== null : wasVisible(type, object);
    const after = type !== "DELETED" && !isMarked(object);
    this.#told.set(name, after ? object : null);
    if (after) return { type: before ? "Modified" : "Added", object };
    return before ? { type: "Deleted", object } : undefined;
  }

  /** The event for a removed row that cannot be read: what the watcher last knew of it. */
  drop(name: string): DatastoreEvent<K> | undefined {
    const object = this.#told.get(name);
    return object ? this.take("DELETED", object) : undefined;
  }

  /** The events that lead from what the watcher knows to `items`, which holds all there is. */
  replace(items: readonly Stored<K>[], unreadable: readonly { readonly name: string }[] = []): DatastoreEvent<K>[] {
    const names = new Set([...items.map((item) => item.metadata.name), ...unreadable.map(({ name }) => name)]);
    const gone = [...this.#told.values()].filter((object) => object !== null && !names.has(object.metadata.name));
    const deleted = gone.map((object) => this.take("DELETED", object as Stored<K>));
    const changed = items.filter((item) => !sameRevision(this.#told.get(item.metadata.name), item));
    const others = changed.map((item) => this.take("ADDED", item));
    return [...deleted, ...others].filter((event) => event !== undefined);
  }
}

/** Before a watcher's first event of a row, it has the list the watch goes on from; marked rows were not in it. */
function wasVisible(type: RowEvent, object: Stored<Kind>): boolean {
  return type === "MODIFIED" || (type === "DELETED" && !isMarked(object));
}

function sameRevision(told: Stored<Kind> | null | undefined, item: Stored<Kind>): boolean {
  return told?.metadata.resourceVersion === item.metadata.resourceVersion;
}
