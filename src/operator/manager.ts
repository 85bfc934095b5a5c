/**
 * Holds the controllers: each has a queue and workers while this process leads, and neither while it stands by.
 * A term begins with every key, so that nothing seen while standing by is missed.
 */
import type { Logger } from "pino";
import { createQueue, type QueueMetrics, type QueueOptions, type WorkQueue } from "../kube/queue.ts";
import type { Reconciler } from "./controller.ts";
import { type Metrics, zeroController } from "./metrics.ts";
import { work } from "./worker.ts";

export interface ManagerOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Workers per controller. */
  readonly concurrent: number;
  /** Every key again this often, give or take a tenth. */
  readonly resyncPeriodMs: number;
  /** Longest one reconciliation may take. */
  readonly reconcileTimeoutMs: number;
  /** Delays of keys that failed; client-go's when absent. */
  readonly queue?: Pick<QueueOptions, "baseMs" | "maxMs">;
  readonly random?: () => number;
}

export interface Manager {
  /**
   * Adds a controller; call before the first `start`.
   * @param keys every key there is, asked for at the start of a term and at each resync
   * @returns tells the controller of a change; of no effect while standing by
   */
  register(reconciler: Reconciler, keys: () => Iterable<string>): (key: string) => void;
  /** Begins a term. */
  start(): void;
  /** Ends the term: no new work; work under way is finished (`drain`) or cut off. Resolves when none is left. */
  stop(how: "drain" | "cut"): Promise<void>;
}

export function createManager(options: ManagerOptions): Manager {
  const controllers: Controller[] = [];
  return {
    register: (reconciler, keys) => {
      const controller = new Controller(reconciler, keys, options);
      controllers.push(controller);
      return (key) => controller.enqueue(key);
    },
    start: () => {
      for (const controller of controllers) controller.start();
    },
    stop: async (how) => {
      await Promise.all(controllers.map((controller) => controller.stop(how)));
    },
  };
}

/** What exists of a controller for one term. */
interface Term {
  readonly queue: WorkQueue;
  readonly cut: AbortController;
  readonly workers: Promise<unknown>;
  resync: NodeJS.Timeout | undefined;
}

/** Longest delay a timer can hold. */
const MAX_TIMER_MS = 2 ** 31 - 1;

class Controller {
  readonly #reconciler: Reconciler;
  readonly #keys: () => Iterable<string>;
  readonly #options: ManagerOptions;
  #term: Term | undefined;

  constructor(reconciler: Reconciler, keys: () => Iterable<string>, options: ManagerOptions) {
    this.#reconciler = reconciler;
    this.#keys = keys;
    this.#options = options;
    zeroController(options.metrics, reconciler.name, options.concurrent);
    options.metrics.beforeScrape(() => this.#measureWork());
  }

  enqueue(key: string): void {
    this.#term?.queue.add(key);
  }

  start(): void {
    if (this.#term !== undefined) throw new Error(`Controller ${this.#reconciler.name} runs already; stop it first`);
    const { concurrent, metrics, log, reconcileTimeoutMs: timeoutMs } = this.#options;
    const queue = createQueue({ ...this.#options.queue, metrics: queueMetrics(metrics, this.#reconciler.name) });
    const cut = new AbortController();
    const deps = { reconciler: this.#reconciler, queue, cut: cut.signal, log, metrics, timeoutMs };
    const workers = Promise.all(Array.from({ length: concurrent }, () => work(deps)));
    this.#term = { queue, cut, workers, resync: undefined };
    this.#enqueueAll(this.#term);
  }

  async stop(how: "drain" | "cut"): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    clearTimeout(term.resync);
    term.queue.shutDown();
    if (how === "cut") term.cut.abort(new Error("This process no longer leads"));
    await term.workers;
    if (this.#term === term) this.#term = undefined;
  }

  #enqueueAll(term: Term): void {
    for (const key of this.#keys()) term.queue.add(key);
    const { resyncPeriodMs, random = Math.random } = this.#options;
    const period = Math.min(MAX_TIMER_MS, resyncPeriodMs * (0.9 + random() / 5));
    term.resync = setTimeout(() => this.#enqueueAll(term), period);
  }

  #measureWork(): void {
    const { name } = this.#reconciler;
    const work = this.#term?.queue.inProgress() ?? { unfinishedSeconds: 0, longestSeconds: 0 };
    const labels = { name, controller: name };
    this.#options.metrics.set("workqueue_unfinished_work_seconds", labels, work.unfinishedSeconds);
    this.#options.metrics.set("workqueue_longest_running_processor_seconds", labels, work.longestSeconds);
  }
}

function queueMetrics(metrics: Metrics, name: string): QueueMetrics {
  const labels = { name, controller: name };
  return {
    depth: (keys) => metrics.set("workqueue_depth", { ...labels, priority: "" }, keys),
    added: () => metrics.count("workqueue_adds_total", labels),
    retried: () => metrics.count("workqueue_retries_total", labels),
    taken: (seconds) => metrics.observe("workqueue_queue_duration_seconds", labels, seconds),
    finished: (seconds) => metrics.observe("workqueue_work_duration_seconds", labels, seconds),
  };
}
