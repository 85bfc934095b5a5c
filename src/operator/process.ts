/** What the operator is made of wherever it works: log, metrics, manager, and the sign to stop. */
import type { Logger } from "pino";
import { BACKGROUND_TASKS, logTaskFailure, type OnTaskFailure, reportFailure } from "../kube/background.ts";
import { createManager, type Manager } from "./manager.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import type { OperatorOptions } from "./options.ts";

const TASK_FAILURES = "ipam_operator_background_task_failures_total";

export interface OperatorProcess {
  readonly options: OperatorOptions;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly manager: Manager;
  /** Aborts when the process is asked to stop. */
  readonly stop: AbortSignal;
  /** Counts and logs a failure that a background task does not handle itself. */
  readonly onTaskFailure: OnTaskFailure;
}

export function createProcess(options: OperatorOptions, log: Logger, stop: AbortSignal): OperatorProcess {
  const metrics = createMetrics();
  const onTaskFailure = taskFailures(log, metrics);
  // A cause that ends without an event, such as an API server's outage, is noticed within this time.
  const queue = { maxMs: 30_000 };
  const { concurrent, resyncPeriod: resyncPeriodMs, reconcileTimeout: reconcileTimeoutMs } = options;
  const manager = createManager({ log, metrics, concurrent, resyncPeriodMs, reconcileTimeoutMs, queue, onTaskFailure });
  return { options, log, metrics, manager, stop, onTaskFailure };
}

function taskFailures(log: Logger, metrics: Metrics): OnTaskFailure {
  for (const task of BACKGROUND_TASKS) metrics.count(TASK_FAILURES, { task }, 0);
  const toLog = logTaskFailure(log);
  return (failure) => {
    metrics.count(TASK_FAILURES, { task: failure.task });
    toLog(failure);
  };
}

/**
 * Keeps the process up when a promise that nothing awaits is rejected: a fault of this program, which must not take the
 * tasks that work down with it. It is reported as a failure of the task `unowned`.
 */
export function surviveUnownedRejections({ onTaskFailure }: OperatorProcess): void {
  const next = "which nothing awaits: this is a fault of the program, please report it";
  process.on("unhandledRejection", (error) =>
    reportFailure(onTaskFailure, { task: "unowned", what: "complete background work", error, next }),
  );
}

/** Readiness ends with the first sign to stop, so that nobody sends or waits for anything new. */
export function stopping(stop: AbortSignal): () => string | undefined {
  return () => (stop.aborted ? "the process is stopping" : undefined);
}
