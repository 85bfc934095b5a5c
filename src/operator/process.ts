/** What the operator is made of wherever it works: log, metrics, manager, and the sign to stop. */
import type { Logger } from "pino";
import { createManager, type Manager } from "./manager.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import type { OperatorOptions } from "./options.ts";

export interface OperatorProcess {
  readonly options: OperatorOptions;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly manager: Manager;
  /** Aborts when the process is asked to stop. */
  readonly stop: AbortSignal;
}

export function createProcess(options: OperatorOptions, log: Logger, stop: AbortSignal): OperatorProcess {
  const metrics = createMetrics();
  // A cause that ends without an event, such as an API server's outage, is noticed within this time.
  const queue = { maxMs: 30_000 };
  const { concurrent, resyncPeriod: resyncPeriodMs, reconcileTimeout: reconcileTimeoutMs } = options;
  const manager = createManager({ log, metrics, concurrent, resyncPeriodMs, reconcileTimeoutMs, queue });
  return { options, log, metrics, manager, stop };
}

/** Readiness ends with the first sign to stop, so that nobody sends or waits for anything new. */
export function stopping(stop: AbortSignal): () => string | undefined {
  return () => (stop.aborted ? "the process is stopping" : undefined);
}
