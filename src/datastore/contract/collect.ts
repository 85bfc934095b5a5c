/** Gathers what a watch shows, for the contract suite. */
import type { Datastore, DatastoreEvent, Kind, WatchOptions } from "../datastore.ts";

export interface Collected<K extends Kind> {
  readonly events: readonly DatastoreEvent<K>[];
  /** Waits until `count` events have come and gives them as `Added name`. */
  until(count: number): Promise<string[]>;
  /** Aborts the watch and waits for its end. Rejects where the watch ended otherwise. */
  stop(): Promise<void>;
}

/** Starts a watch and keeps its events. */
export function collect<K extends Kind>(
  datastore: Datastore,
  kind: K,
  options: Omit<WatchOptions, "signal"> = {},
): Collected<K> {
  const events: DatastoreEvent<K>[] = [];
  const abort = new AbortController();
  let arrived = Promise.withResolvers<void>();
  const run = async () => {
    for await (const event of datastore.watch(kind, { signal: abort.signal, ...options })) {
      events.push(event);
      arrived.resolve();
      arrived = Promise.withResolvers();
    }
  };
  const ended = run();
  ended.catch(() => {}); // whoever waits for events or the end is told
  return {
    events,
    async until(count) {
      while (events.length < count) await Promise.race([arrived.promise, ended.then(endedEarly)]);
      return events.map(({ type, object }) => `${type} ${object.metadata.name}`);
    },
    stop: () => {
      abort.abort();
      return ended;
    },
  };
}

function endedEarly(): never {
  throw new Error("the watch ended before the events came");
}
