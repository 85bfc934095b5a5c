/**
 * Watches kinds that may not be installed yet, or not any more: a kind's reflector runs while the API server serves it.
 * What is served is asked again when a CustomResourceDefinition changes and for a while after, and now and then while a
 * kind is missing that is needed, or that has a definition. When all is there, nothing is asked.
 */
import type { Logger } from "pino";
import type { KubeObject } from "../../api/meta.ts";
import { createBackground, type OnTaskFailure, type RunInBackground } from "../../kube/background.ts";
import { type BackoffOptions, sleep } from "../../kube/backoff.ts";
import { servedResources } from "../../kube/discovery.ts";
import { createReflector, type Reflector } from "../../kube/reflector.ts";
import { asKubeError, isKubeError, type KubeClient, type KubeError, type ResourceType } from "../../kube/types.ts";

/** When to ask again after a definition has changed, in parts of `retryMs`, each after the one before. */
const ASK_AGAIN_AFTER = [1 / 30, 1 / 10, 1 / 3, 1] as const;

export const CRD_TYPE: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
};

export interface ServedKindsOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** See ReflectorOptions. */
  readonly idleTimeoutMs: number;
  /** Between two looks for a needed kind that is missing, and between two tries to reach a server that is away. */
  readonly retryMs: number;
  /** Told when a kind comes, goes, is synced or cannot be read. */
  readonly onState: () => void;
  /** Something else than a needed kind is still to be found among what is served. */
  readonly incomplete?: () => boolean;
  /** Told when what is served was asked again. */
  readonly onRefresh?: () => void | Promise<void>;
  /** Told when a definition was added, changed or removed, by its name, after what is served was asked again. */
  readonly onDefinition?: (name: string) => void | Promise<void>;
  /** Called with a failure that the background work does not handle itself; the work is then tried again. */
  readonly onTaskFailure: OnTaskFailure;
}

export interface WatchedKindOptions<T extends KubeObject> {
  readonly type: ResourceType;
  /** Nothing can be done without it: it is looked for while it is missing. */
  readonly needed: boolean;
  readonly labelSelector?: string;
  readonly metadataOnly?: boolean;
  readonly transform?: (object: T) => T;
  readonly onChange: (key: string) => void;
}

export interface WatchedKind<T extends KubeObject> {
  readonly type: ResourceType;
  readonly needed: boolean;
  /** What is known; empty while the kind is not served. */
  list(): readonly T[];
  get(key: string): T | undefined;
  /** Undefined: not asked yet. */
  readonly served: boolean | undefined;
  /** Listed once, or known not to be served. */
  readonly settled: boolean;
  /** Why it cannot be read right now. */
  readonly error: KubeError | undefined;
}

export interface ServedKinds {
  watch<T extends KubeObject>(options: WatchedKindOptions<T>): WatchedKind<T>;
  /** Ends a watch. */
  unwatch(kind: WatchedKind<KubeObject>): void;
  /** Revision of a definition; undefined where there is none. */
  definition(name: string): string | undefined;
  /** Why the server cannot be asked what it serves. */
  readonly error: KubeError | undefined;
  /** Asks again what is served. */
  refresh(): Promise<void>;
  /** The same in the background, until it succeeds. */
  ask(): void;
  /** Reads everything again: the store was restored from a backup. */
  relist(): void;
}

/** Starts watching definitions; kinds are added by `watch`. Everything ends with the signal. */
export function createServedKinds(options: ServedKindsOptions): ServedKinds {
  const kinds = new Kinds(options);
  kinds.start();
  return kinds;
}

class Kinds implements ServedKinds {
  readonly #options: ServedKindsOptions;
  readonly #run: RunInBackground;
  readonly #definitions: Reflector<KubeObject>;
  readonly #kinds: Kind<KubeObject>[] = [];
  #refreshing: Promise<void> | undefined;
  #again = false;
  #following = new AbortController();
  #failure: KubeError | undefined;

  constructor(options: ServedKindsOptions) {
    this.#options = options;
    const { client, log, signal, idleTimeoutMs, onState, onTaskFailure } = options;
    const backoff = backoffOf(options);
    this.#run = createBackground({ task: "discovery", signal, backoff, onFailure: onTaskFailure });
    this.#definitions = createReflector<KubeObject>({
      client,
      log,
      idleTimeoutMs,
      type: CRD_TYPE,
      metadataOnly: true,
      transform: nameOnly,
      backoff,
      onState,
      onTaskFailure,
      onChange: (name) => this.#definitionChanged(name),
    });
  }

  /** What was read before stays true through a short outage; only what was never read, or is refused, is an error. */
  get error(): KubeError | undefined {
    const { synced, lastError } = this.#definitions.state;
    if (lastError !== undefined && (!synced || isKubeError(lastError, "Forbidden"))) return lastError;
    return this.#kinds.some(({ served }) => served === undefined) ? this.#failure : undefined;
  }

  definition(name: string): string | undefined {
    return this.#definitions.store.get(name)?.metadata.resourceVersion;
  }

  start(): void {
    this.#run(`watch ${CRD_TYPE.plural}`, () => this.#definitions.start(this.#options.signal));
    this.#run("look for missing kinds", () => this.#lookForNeeded());
  }

  watch<T extends KubeObject>(options: WatchedKindOptions<T>): WatchedKind<T> {
    const kind = new Kind<T>(options, this.#options, this.#run);
    this.#kinds.push(kind as unknown as Kind<KubeObject>);
    this.ask();
    return kind;
  }

  unwatch(kind: WatchedKind<KubeObject>): void {
    const at = this.#kinds.indexOf(kind as Kind<KubeObject>);
    for (const watched of at < 0 ? [] : this.#kinds.splice(at, 1)) watched.stop();
  }

  ask(): void {
    this.#run("ask what is served", () => this.refresh());
  }

  /** One at a time: a call during a refresh makes one more follow it. */
  refresh(): Promise<void> {
    this.#again = true;
    this.#refreshing ??= this.#refreshWhileAsked().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  relist(): void {
    this.#definitions.relist();
    for (const kind of this.#kinds) kind.relist();
  }

  async #refreshWhileAsked(): Promise<void> {
    while (this.#again && !this.#options.signal.aborted) {
      this.#again = false;
      this.#failure = undefined;
      const byVersion = Map.groupBy(this.#kinds, ({ type }) => `${type.group}/${type.version}`);
      await Promise.all([...byVersion.values()].map((kinds) => this.#askFor(kinds)));
      this.#options.onState();
      this.#run("report what is served", () => this.#options.onRefresh?.());
    }
  }

  async #askFor(kinds: readonly Kind<KubeObject>[]): Promise<void> {
    const { client, signal } = this.#options;
    const { group, version } = kinds[0]!.type;
    try {
      const served = await servedResources(client, group, version, { signal });
      for (const kind of kinds) kind.setServed(served?.has(kind.type.plural) ?? false);
    } catch (error) {
      if (!signal.aborted) this.#failure = asKubeError(error);
    }
  }

  #definitionChanged(name: string): void {
    const group = name.slice(name.indexOf(".") + 1);
    const ours = this.#kinds.some(({ type }) => type.group === group);
    this.#run(`report a change of ${name}`, async () => {
      await (ours ? this.refresh() : undefined);
      await this.#options.onDefinition?.(name);
    });
    // What the first list shows was there before; if one of it is not served yet, it is looked for as what is needed is.
    if (ours && this.#definitions.state.synced) this.#run("ask again what is served", () => this.#askAgain());
  }

  /** An API server tells of a definition before it serves it, and serves it on for a moment after; one beside it lags more. */
  async #askAgain(): Promise<void> {
    this.#following.abort();
    this.#following = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, this.#following.signal]);
    for (const part of ASK_AGAIN_AFTER) {
      await sleep(part * this.#options.retryMs, signal);
      if (signal.aborted) return;
      await this.refresh();
    }
  }

  #incomplete(): boolean {
    const isMissing = ({ needed, served, type }: Kind<KubeObject>) =>
      !served && (needed || this.definition(`${type.plural}.${type.group}`) !== undefined);
    return this.#kinds.some(isMissing) || this.#failure !== undefined || (this.#options.incomplete?.() ?? false);
  }

  async #lookForNeeded(): Promise<void> {
    const { signal, retryMs } = this.#options;
    while (!signal.aborted) {
      await sleep(retryMs, signal);
      if (this.#incomplete() && !signal.aborted) await this.refresh();
    }
  }
}

function backoffOf({ retryMs }: ServedKindsOptions): BackoffOptions {
  return { baseMs: Math.min(800, retryMs), maxMs: retryMs };
}

/** Clusters hold hundreds of definitions; only their names and revisions are of use here. */
function nameOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, uid, resourceVersion } };
}

class Kind<T extends KubeObject> implements WatchedKind<T> {
  readonly type: ResourceType;
  readonly needed: boolean;
  readonly #options: WatchedKindOptions<T>;
  readonly #shared: ServedKindsOptions;
  readonly #run: RunInBackground;
  #reflector: Reflector<T> | undefined;
  #stop: AbortController | undefined;
  #isStopped = false;
  served: boolean | undefined;

  constructor(options: WatchedKindOptions<T>, shared: ServedKindsOptions, run: RunInBackground) {
    this.type = options.type;
    this.needed = options.needed;
    this.#options = options;
    this.#shared = shared;
    this.#run = run;
  }

  list(): readonly T[] {
    return this.#reflector?.store.list() ?? [];
  }

  get(key: string): T | undefined {
    return this.#reflector?.store.get(key);
  }

  get settled(): boolean {
    return this.served === false || this.#reflector?.state.synced === true;
  }

  get error(): KubeError | undefined {
    return this.#reflector?.state.lastError;
  }

  relist(): void {
    this.#reflector?.relist();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop?.abort();
    this.#reflector = undefined;
  }

  setServed(served: boolean): void {
    if (this.#isStopped || this.served === served) return;
    this.served = served;
    if (served) this.#start();
    else this.#end();
  }

  #start(): void {
    const { client, log, idleTimeoutMs, onState, signal, onTaskFailure } = this.#shared;
    this.#stop = new AbortController();
    const reflector = createReflector<T>({
      ...this.#options,
      client,
      log,
      idleTimeoutMs,
      onState,
      onTaskFailure,
      backoff: backoffOf(this.#shared),
    });
    this.#reflector = reflector;
    const running = AbortSignal.any([signal, this.#stop.signal]);
    this.#run(`watch ${this.type.plural}`, () => reflector.start(running));
  }

  /** Its definition is gone, and its objects with it. */
  #end(): void {
    this.#stop?.abort();
    const keys = this.list().map(({ metadata }) => metadata.name);
    this.#reflector = undefined;
    for (const key of keys) this.#options.onChange(key);
  }
}
