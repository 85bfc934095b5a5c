/**
 * Holds the controllers: each has a queue and workers while this process leads, and neither while it stands by.
 * A term begins with every key, so that nothing seen while standing by is missed.
 */
import type { Logger } from "pino";
import { logTaskFailure, type OnTaskFailure, runTask } from "../kube/background.ts";
import { sleep } from "../kube/backoff.ts";
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
  /** Called with a failure that is no reconciliation's; the worker then goes on. Default: the log. */
  readonly onTaskFailure?: OnTaskFailure;
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
  /** Ends the resyncs. */
  readonly over: AbortController;
  /** The workers and the resyncs; never rejects. */
  readonly tasks: Promise<unknown>;
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
    const { name } = this.#reconciler;
    const queue = createQueue({ ...this.#options.queue, metrics: queueMetrics(metrics, name) });
    const [cut, over] = [new AbortController(), new AbortController()];
    const deps = { reconciler: this.#reconciler, queue, cut: cut.signal, log, metrics, timeoutMs };
    const run = (what: string, task: () => Promise<void>) => this.#runTask(`${what} ${name}`, over.signal, task);
    const workers = Array.from({ length: concurrent }, () => run("reconcile", () => work(deps)));
    const tasks = Promise.all([...workers, run("resync", () => this.#resync(queue, over.signal))]);
    this.#term = { queue, cut, over, tasks };
  }

  async stop(how: "drain" | "cut"): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    term.over.abort();
    term.queue.shutDown();
    if (how === "cut") term.cut.abort(new Error("This process no longer leads"));
    await term.tasks;
    if (this.#term === term) this.#term = undefined;
  }

  #runTask(what: string, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
    const { log, onTaskFailure: onFailure = logTaskFailure(log) } = this.#options;
    return runTask({ task: "controllers", what, signal, onFailure }, task);
  }

  async #resync(queue: WorkQueue, over: AbortSignal): Promise<void> {
    const { resyncPeriodMs, random = Math.random } = this.#options;
    while (!over.aborted) {
      for (const key of this.#keys()) queue.add(key);
      await sleep(Math.min(MAX_TIMER_MS, resyncPeriodMs * (0.9 + random() / 5)), over);
    }
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
