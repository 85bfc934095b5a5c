/**
 * Keeps a store equal to one REST collection: list, then watch, for ever. Cuts are resumed from the last revision
 * seen, what cannot be resumed is listed anew, and every failure is retried with backoff until the signal aborts.
 */
import type { Logger } from "pino";
import type { KubeObject } from "../api/meta.ts";
import { logTaskFailure, type OnTaskFailure, runTask } from "./background.ts";
import { type Backoff, type BackoffOptions, createBackoff, sleep } from "./backoff.ts";
import { compare, glance, named, newestOf } from "./glance.ts";
import { type Change, keyOf, ObjectStore, type Store } from "./store.ts";
import {
  asKubeError,
  isKubeError,
  type KubeClient,
  type KubeError,
  type KubeWatchEvent,
  type ResourceType,
} from "./types.ts";

export interface ReflectorState {
  /** Whether the collection has been listed once. */
  readonly synced: boolean;
  /** Why the collection cannot be read right now. */
  readonly lastError?: KubeError;
  /** When the server last sent something about this collection, in milliseconds since the epoch; 0: never. */
  readonly lastActivity: number;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly log: Logger;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
  /** Run on each object before it is stored: drop here what nobody reads. */
  readonly transform?: (object: T) => T;
  /** Told of every change, after the store has it. Enqueue the key and return. */
  readonly onChange?: (key: string, change: Change) => void;
  /** Told when `synced` or `lastError` changes. */
  readonly onState?: (state: ReflectorState) => void;
  /** A watch silent for this long is opened again. Above the server's bookmark minute. Default 90 s. */
  readonly idleTimeoutMs?: number;
  /** A watch that has stood this long counts as working: the backoff starts anew. Default 1 s. */
  readonly healthyAfterMs?: number;
  /** Default 0.8 s doubling to 30 s. */
  readonly backoff?: BackoffOptions;
  /** Called with a failure that is not the server's; the reflector then goes on. Default: the log. */
  readonly onTaskFailure?: OnTaskFailure | undefined;
}

export interface Reflector<T extends KubeObject> {
  readonly store: Store<T>;
  readonly state: ReflectorState;
  /** Resolves after the first list; rejects when stopped before. */
  synced(): Promise<void>;
  /**
   * Runs until `signal` aborts; then nothing more is stored or told. The promise resolves when it has ended, never rejects.
   * @throws Error when it was started before
   */
  start(signal: AbortSignal): Promise<void>;
  /** Lists at once, and takes all that is held for changed: the store was restored from a backup. */
  relist(): void;
}

/** Makes a reflector; nothing is requested before `start`. */
export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  return new CollectionReflector(options);
}

const DEFAULT_BACKOFF: BackoffOptions = { baseMs: 800, maxMs: 30_000 };

const RESTORED = "etcd was restored from a backup, so all is listed again";

/** Failures after which the revision we hold is still good; after any other the collection is listed anew. */
const RESUMABLE = ["Unavailable", "Timeout", "TooManyRequests", "Unauthorized", "Forbidden"] as const;

/** Answers that the next watch may bring again: they are never followed at once. */
const UNUSABLE = ["TooLarge", "ServerError"] as const;

class CollectionReflector<T extends KubeObject> implements Reflector<T> {
  readonly store = new ObjectStore<T>();
  readonly #options: ReflectorOptions<T>;
  readonly #backoff: Backoff;
  readonly #firstSync = Promise.withResolvers<void>();
  #state: ReflectorState = { synced: false, lastActivity: 0 };
  /** Revision that the next watch goes on from; undefined: list first. */
  #version: string | undefined;
  /** What is held was read from a store that is no more. */
  #isPast = false;
  /** The last watch ended in an answer that cannot be used, and nothing was taken since. */
  #isUnusable = false;
  #round = new AbortController();
  #started = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = createBackoff(options.backoff ?? DEFAULT_BACKOFF);
    this.#firstSync.promise.catch(() => {}); // Nobody may be waiting when it is stopped unsynced.
  }

  get state(): ReflectorState {
    return this.#state;
  }

  synced(): Promise<void> {
    return this.#firstSync.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const { plural } = this.#options.type;
    if (this.#started) throw new Error(`The reflector of ${plural} was started before; make another one`);
    this.#started = true;
    return this.#runAsTask(signal);
  }

  async #runAsTask(signal: AbortSignal): Promise<void> {
    const { type, log, backoff, onTaskFailure: onFailure = logTaskFailure(log) } = this.#options;
    const task = { task: "reflectors", what: `watch ${type.plural}`, signal, backoff, onFailure } as const;
    await runTask(task, () => this.#run(signal));
    this.#firstSync.reject(new Error(`Stopped before ${type.plural} could be listed`));
  }

  relist(): void {
    this.#version = undefined;
    this.#isPast = true;
    this.#round.abort();
  }

  async #run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      this.#round = new AbortController();
      const signal = AbortSignal.any([stop, this.#round.signal]);
      const stood = await this.#listAndWatch(signal);
      if (!stood) await sleep(this.#backoff.next(), signal);
    }
  }

  /** One watch, after a list where there is nothing to go on from; whether it stood long enough to be followed at once. */
  async #listAndWatch(signal: AbortSignal): Promise<boolean> {
    let stood = false;
    let healthy: NodeJS.Timeout | undefined;
    const works = () => {
      stood = true;
      if (!this.#isUnusable) this.#backoff.reset();
      this.#setState({ lastError: undefined });
    };
    try {
      if (this.#version !== undefined) await this.#checkVersion(this.#version, signal);
      this.#version ??= await this.#list(signal);
      healthy = setTimeout(works, this.#options.healthyAfterMs ?? 1000);
      await this.#watch(this.#version, signal);
    } catch (error) {
      this.#isUnusable ||= isKubeError(error, ...UNUSABLE);
      stood &&= !isKubeError(error, ...UNUSABLE);
      if (!signal.aborted) this.#failed(error, stood);
    } finally {
      clearTimeout(healthy);
    }
    return stood;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { client, type, transform = (object: T) => object } = this.#options;
    const list = await client.list<T>(type, { ...this.#selection(), signal });
    signal.throwIfAborted();
    const changes = this.store.replace(list.items.map(transform), this.#isPast);
    this.#isPast = false;
    for (const [key, change] of changes) this.#tell(key, change);
    this.#setState({ synced: true, lastActivity: Date.now() });
    this.#firstSync.resolve();
    return list.resourceVersion;
  }

  /**
   * Whether the watch can go on from there. In a store that was restored from a backup the revision lies ahead: the server
   * would be silent until it is reached, and then go on with changes of something else.
   */
  async #checkVersion(revision: string, signal: AbortSignal): Promise<void> {
    const { client, type, log, namespace, fieldSelector } = this.#options;
    const object = newestOf(this.store.list())?.metadata;
    const seen = await glance(client, type, {
      namespace: object?.namespace ?? namespace,
      fieldSelector: fieldSelector ?? named(object?.name ?? "default"),
      signal,
    });
    const is = compare({ revision, object }, seen);
    if (is === "same") return;
    this.#version = undefined;
    if (is === "changed") return;
    this.#isPast = true;
    log.warn({ held: revision, found: seen.revision }, `The revision of ${type.plural} went back: ${RESTORED}`);
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, type, idleTimeoutMs = 90_000 } = this.#options;
    const options = { ...this.#selection(), signal, resourceVersion, idleTimeoutMs };
    for await (const event of client.watch<T>(type, options)) {
      if (signal.aborted) return;
      this.#version = this.#take(event);
    }
  }

  /** Applies one event and returns the revision it brings the store to. */
  #take(event: KubeWatchEvent<T>): string | undefined {
    this.#isUnusable = false;
    this.#setState({ lastActivity: Date.now() });
    if (event.type === "BOOKMARK") return event.resourceVersion;
    const { transform = (object: T) => object } = this.#options;
    const key = keyOf(event.object);
    const change = event.type === "DELETED" ? this.store.drop(key) : this.store.put(transform(event.object));
    if (change !== undefined) this.#tell(key, change);
    return event.object.metadata.resourceVersion;
  }

  #selection() {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }

  /** A cut of a watch that worked is ordinary; the next attempt shows whether there is more to it. */
  #failed(error: unknown, stood: boolean): void {
    const { log, type } = this.#options;
    if (!isKubeError(error, ...RESUMABLE)) this.#version = undefined;
    if (stood) {
      log.debug({ err: error }, `Watch of ${type.plural} was cut, going on`);
      return;
    }
    // A kind that somebody has taken away is not served; whoever needs it says so.
    const level = isKubeError(error, "NotFound") ? "info" : "warn";
    log[level]({ err: error }, `Cannot list and watch ${type.plural}, trying again`);
    this.#setState({ lastError: asKubeError(error) });
  }

  #setState(part: Partial<ReflectorState>): void {
    const before = this.#state;
    this.#state = { ...before, ...part };
    const { synced, lastError } = this.#state;
    if (synced === before.synced && lastError === before.lastError) return;
    this.#guarded("onState", () => this.#options.onState?.(this.#state));
  }

  #tell(key: string, change: Change): void {
    this.#guarded("onChange", () => this.#options.onChange?.(key, change));
  }

  /** A handler that throws loses its own call, not the watch. */
  #guarded(handler: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.log.error({ err: error }, `The ${handler} handler of ${this.#options.type.plural} threw`);
    }
  }
}
