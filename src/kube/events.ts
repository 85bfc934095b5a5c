/** Writes events.k8s.io/v1 Events in the background: repeats become a series, trouble costs the event, never the caller. */
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import type { KubeObject } from "../api/meta.ts";
import { escapeLine } from "../escape.ts";
import type { EventRecorder } from "../operator/events.ts";
import { logTaskFailure, type OnTaskFailure, startTask } from "./background.ts";
import { microTime } from "./lease-record.ts";
import { createQueue } from "./queue.ts";
import { isKubeError, type KubeClient, type ResourceType } from "./types.ts";

export const EVENTS: ResourceType = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

export interface RecorderOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** `reportingController`: the manager's name. */
  readonly controller: string;
  /** `reportingInstance`: this process. */
  readonly instance: string;
  /** The same event again within this time continues its series. Default 6 min. */
  readonly windowMs?: number;
  /** Repeats are counted this long before the count is written. Default 5 s. */
  readonly repeatDelayMs?: number;
  /** Events waiting to be written; more are dropped. Default 500. */
  readonly bufferSize?: number;
  /** Ends the writing; what waits is dropped. Default: never. */
  readonly signal?: AbortSignal;
  /** Called with a failure that is not the server's; the writing then goes on. Default: the log. */
  readonly onTaskFailure?: OnTaskFailure;
}

export interface KubeEventRecorder extends EventRecorder {
  /** Resolves when everything recorded so far is written or dropped. */
  flush(): Promise<void>;
}

/** Makes a recorder that writes one event at a time, in order. */
export function createEventRecorder(options: RecorderOptions): KubeEventRecorder {
  return new Recorder(options);
}

const DEFAULT_BUFFER = 500;
const NOTE_BYTES = 1024;
const NAME_LENGTH = 200;
const WRITE_TIMEOUT_MS = 10_000;

/** One event and its repeats. */
interface Series {
  readonly event: KubeObject;
  count: number;
  lastSeen: number;
  /** The count that the API server has; 0: not created. */
  written: number;
}

class Recorder implements KubeEventRecorder {
  readonly #options: RecorderOptions;
  readonly #queue = createQueue();
  /** By key, least recently seen first. */
  readonly #series = new Map<string, Series>();
  readonly #pending = new Set<string>();
  #flushed: (() => void)[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { log, signal = new AbortController().signal, onTaskFailure: onFailure = logTaskFailure(log) } = options;
    signal.addEventListener("abort", () => this.#queue.shutDown());
    startTask({ task: "events", what: "write events", signal, onFailure }, () => this.#writeAll());
  }

  event(regarding: KubeObject, type: "Normal" | "Warning", reason: string, note: string, action: string): void {
    const { controller, instance, bufferSize = DEFAULT_BUFFER, log } = this.#options;
    this.#forgetOld();
    const { uid, namespace, name } = regarding.metadata;
    const key = JSON.stringify([regarding.kind, namespace, name, uid, type, reason, note, action]);
    if (!this.#pending.has(key) && this.#pending.size >= bufferSize) {
      log.warn({ reason, note }, "Event dropped: too many are waiting to be written");
      return;
    }
    const known = this.#series.get(key);
    const series = known ?? {
      event: newEvent(regarding, { type, reason, note, action, controller, instance }),
      count: 0,
      lastSeen: 0,
      written: 0,
    };
    series.count++;
    series.lastSeen = Date.now();
    this.#series.delete(key); // to come last again
    this.#series.set(key, series);
    this.#pending.add(key);
    if (known === undefined) this.#queue.add(key);
    else this.#queue.addAfter(key, this.#options.repeatDelayMs ?? 5000);
  }

  flush(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    for (const key of this.#pending) this.#queue.add(key);
    return new Promise((resolve) => this.#flushed.push(resolve));
  }

  async #writeAll(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      try {
        await this.#write(key);
      } finally {
        this.#queue.done(key);
        if (this.#pending.size === 0) for (const resolve of this.#flushed.splice(0)) resolve();
      }
    }
  }

  /** Never rejects: what cannot be written is dropped. */
  async #write(key: string): Promise<void> {
    const series = this.#series.get(key);
    if (series === undefined) return; // a repeat came while the write failed, and was dropped with it
    const { event, count, written } = series;
    try {
      if (count > written) await this.#send(event, count, written > 0);
      series.written = count;
      if (series.count === count) this.#pending.delete(key);
    } catch (error) {
      this.#drop(key, event, error);
    }
  }

  async #send(event: KubeObject, count: number, exists: boolean): Promise<void> {
    const { client } = this.#options;
    const { name, namespace } = event.metadata;
    const options = { namespace, timeoutMs: WRITE_TIMEOUT_MS };
    const series = count > 1 ? { series: { count, lastObservedTime: microTime(Date.now()) } } : {};
    try {
      if (exists) {
        await client.patch(EVENTS, name, series, { ...options, type: "merge" });
        return;
      }
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error; // the server forgets events after an hour
    }
    await client.create(EVENTS, { ...event, ...series }, options);
  }

  #drop(key: string, event: KubeObject, error: unknown): void {
    this.#series.delete(key);
    this.#pending.delete(key);
    this.#options.log.warn({ err: error, event }, "Event dropped: it could not be written");
  }

  #forgetOld(): void {
    const { windowMs = 360_000, bufferSize = DEFAULT_BUFFER } = this.#options;
    for (const [key, { lastSeen }] of this.#series) {
      if (Date.now() - lastSeen < windowMs && this.#series.size <= bufferSize) return;
      if (!this.#pending.has(key)) this.#series.delete(key);
    }
  }
}

interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly controller: string;
  readonly instance: string;
}

/** Events about cluster-scoped objects go to the namespace `default`, as the API server demands. */
function newEvent({ apiVersion, kind, metadata }: KubeObject, text: EventText): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { controller, instance, note, ...rest } = text;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: eventName(name), namespace: namespace ?? "default" },
    eventTime: microTime(Date.now()),
    reportingController: controller,
    reportingInstance: instance,
    regarding: { apiVersion, kind, name, namespace, uid, resourceVersion },
    note: cutToBytes(escapeLine(note), NOTE_BYTES),
    ...rest,
  } as KubeObject;
}

/** The object's name as far as it may stand in a DNS subdomain, which not every name may, and a random part. */
function eventName(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return `${words.join("-").slice(0, NAME_LENGTH)}-${randomBytes(8).toString("hex")}`;
}

/** At most `limit` bytes of UTF-8, cut before a whole character and marked by an ellipsis. */
export function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit - Buffer.byteLength("…");
  while ((bytes[end]! & 0b1100_0000) === 0b1000_0000) end--;
  return `${bytes.subarray(0, end).toString()}…`;
}
