/** Follows one kind of a cluster until it is told to stop: cuts are resumed, what cannot be resumed is listed anew. */
import type { KubeObject } from "../api/meta.ts";
import { createBackoff, sleep } from "../kube/backoff.ts";
import { isKubeError, type KubeClient, KubeError, type KubeWatchEvent } from "../kube/types.ts";
import type { DatastoreEvent, Kind, Stored, WatchOptions } from "./datastore.ts";
import type { Codec } from "./flavours.ts";
import { View } from "./view.ts";

export interface RowWatch<K extends Kind> extends WatchOptions {
  readonly client: KubeClient;
  readonly codec: Codec<K>;
}

/** A watch that stood this long counts as working: the pauses start from the shortest. */
const HEALTHY_MS = 1000;
const PAUSE = { baseMs: 100, maxMs: 30_000 };
/** What waiting may mend; anything else ends the watch. */
const PASSING = ["Unavailable", "Timeout", "TooManyRequests", "ServerError"] as const;

/** @throws KubeError Expired where `revision` is too old, and whatever waiting does not mend */
export async function* watchRows<K extends Kind>(options: RowWatch<K>): AsyncGenerator<DatastoreEvent<K>> {
  const { client, codec, signal } = options;
  const pauses = createBackoff(PAUSE);
  const reader = new RowReader(options);
  let from = options.revision;
  let isCut = false;
  while (!signal.aborted) {
    let openedAt = Number.POSITIVE_INFINITY;
    try {
      if (isCut && from !== undefined) await checkResuming(options, from);
      if (from === undefined) {
        const list = await client.list(codec.resource, { signal });
        yield* reader.list(list.items);
        from = list.resourceVersion;
      }
      openedAt = performance.now();
      for await (const event of client.watch(codec.resource, { signal, resourceVersion: from })) {
        pauses.reset();
        yield* reader.event(event);
        from = revisionAfter(event);
      }
    } catch (error) {
      if (isKubeError(error, "TooLarge")) openedAt = Number.POSITIVE_INFINITY; // the next watch may bring it again
      from = resumeAfter(error, from, options);
    }
    isCut = true;
    options.onCut?.();
    if (performance.now() - openedAt >= HEALTHY_MS) pauses.reset();
    await sleep(pauses.next(), signal);
  }
}

/** @throws KubeError Expired where the store is not the one that was watched */
async function checkResuming<K extends Kind>({ codec, mayResume }: RowWatch<K>, from: string): Promise<void> {
  if (mayResume === undefined || (await mayResume())) return;
  throw new KubeError("Expired", `the changes of ${codec.resource.plural} since ${from} are not to be had`);
}

/** Where to go on from after a failure; undefined: from a new list, which needs that the watch began with one. */
function resumeAfter(error: unknown, from: string | undefined, { signal, revision }: WatchOptions): string | undefined {
  if (signal.aborted || isKubeError(error, ...PASSING)) return from;
  if (isKubeError(error, "Expired", "TooLarge") && revision === undefined) return undefined;
  throw error;
}

function revisionAfter(event: KubeWatchEvent<KubeObject>): string {
  return event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion!;
}

/** From wire objects to what the watcher sees; what cannot be read is reported and passed over. */
class RowReader<K extends Kind> {
  readonly #view = new View<K>();
  readonly #options: RowWatch<K>;

  constructor(options: RowWatch<K>) {
    this.#options = options;
  }

  list(wires: readonly KubeObject[]): DatastoreEvent<K>[] {
    const read = wires.map((wire) => this.#read(wire));
    const unreadable = wires.filter((_wire, index) => read[index] === undefined).map(({ metadata }) => metadata);
    return this.#view.replace(
      read.filter((object) => object !== undefined),
      unreadable,
    );
  }

  event(event: KubeWatchEvent<KubeObject>): DatastoreEvent<K>[] {
    if (event.type === "BOOKMARK") return [];
    const object = this.#read(event.object);
    const seen = object ? this.#view.take(event.type, object) : this.#unreadable(event);
    return seen ? [seen] : [];
  }

  #unreadable({ type, object }: Exclude<KubeWatchEvent<KubeObject>, { type: "BOOKMARK" }>) {
    return type === "DELETED" ? this.#view.drop(object.metadata.name) : undefined;
  }

  #read(wire: KubeObject): Stored<K> | undefined {
    const { codec, onMalformed } = this.#options;
    try {
      return codec.read(wire);
    } catch (error) {
      onMalformed?.({ kind: codec.resource.kind, name: wire.metadata.name, reason: (error as Error).message });
      return undefined;
    }
  }
}
