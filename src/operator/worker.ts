/** Runs one reconciliation and accounts for it: time limit, metrics, log, and what its outcome means for the key. */
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { WorkQueue } from "../kube/queue.ts";
import { LostRace, type ReconcileResult, type Reconciler, TerminalError } from "./controller.ts";
import type { Metrics } from "./metrics.ts";

export interface WorkerDeps {
  readonly reconciler: Reconciler;
  readonly queue: WorkQueue;
  /** Ends the reconciliation under way. */
  readonly cut: AbortSignal;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Longest one reconciliation may take. */
  readonly timeoutMs: number;
}

/** One reconciliation under way. */
interface Run extends WorkerDeps {
  readonly key: string;
  readonly labels: { readonly controller: string };
}

/** Takes keys and reconciles them until the queue is shut down. @throws when an outcome cannot be accounted for */
export async function work(deps: WorkerDeps): Promise<void> {
  const { queue, reconciler, log } = deps;
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    const labels = { controller: reconciler.name };
    try {
      await reconcileOnce({ ...deps, key, labels, log: log.child(logKeys(reconciler, key)) });
    } catch (error) {
      queue.addRateLimited(key);
      throw error;
    } finally {
      queue.done(key);
    }
  }
}

async function reconcileOnce(run: Run): Promise<void> {
  const limit = AbortSignal.timeout(run.timeoutMs);
  const startedAt = performance.now();
  run.metrics.add("controller_runtime_active_workers", run.labels, 1);
  try {
    const signal = AbortSignal.any([run.cut, limit]);
    succeeded(run, await run.reconciler.reconcile(run.key, { signal, log: run.log }));
  } catch (error) {
    // Cut off because this process stops or no longer leads: whoever leads next begins with every key.
    if (run.cut.aborted) run.log.debug({ error }, "Reconciliation cut off");
    else if (error instanceof LostRace) outrun(run, error);
    else failed(run, error, limit.aborted);
  } finally {
    run.metrics.add("controller_runtime_active_workers", run.labels, -1);
    const seconds = (performance.now() - startedAt) / 1000;
    run.metrics.observe("controller_runtime_reconcile_time_seconds", run.labels, seconds);
  }
}

/** controller-runtime's log keys, so that one query finds the lines of any operator. */
function logKeys(reconciler: Reconciler, key: string): Record<string, string> {
  const slash = key.indexOf("/");
  return {
    controller: reconciler.name,
    controllerGroup: reconciler.group,
    controllerKind: reconciler.kind,
    ...(slash > 0 && { namespace: key.slice(0, slash) }),
    name: key.slice(slash + 1),
    reconcileID: randomUUID(),
  };
}

function succeeded({ queue, key, labels, metrics }: Run, { requeueAfterMs }: ReconcileResult): void {
  queue.forget(key);
  const result = requeueAfterMs === undefined ? "success" : "requeue_after";
  metrics.count("controller_runtime_reconcile_total", { ...labels, result });
  if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
}

function outrun(run: Run, error: LostRace): void {
  run.metrics.count("controller_runtime_reconcile_total", { ...run.labels, result: "requeue" });
  run.log.info(`Decided anew: ${error.message}`);
  comeBack(run, error);
}

function failed(run: Run, error: unknown, timedOut: boolean): void {
  const { labels, metrics } = run;
  metrics.count("controller_runtime_reconcile_total", { ...labels, result: "error" });
  metrics.count("controller_runtime_reconcile_errors_total", labels);
  if (timedOut) metrics.count("controller_runtime_reconcile_timeouts_total", labels);
  if (isProgrammingError(error)) {
    metrics.count("controller_runtime_reconcile_panics_total", labels);
    run.log.error({ error, stacktrace: error.stack }, "Reconciliation met a fault in this program");
  } else {
    run.log.error({ error }, timedOut ? "Reconciliation took too long" : "Reconciliation failed");
  }
  comeBack(run, error);
}

function comeBack({ queue, key, labels, metrics }: Run, error: unknown): void {
  if (error instanceof TerminalError) {
    queue.forget(key);
    metrics.count("controller_runtime_terminal_reconcile_errors_total", labels);
  } else {
    queue.addRateLimited(key);
  }
}

/** What a Go program would panic with: errors the language throws at wrong code, never at a wrong world. */
function isProgrammingError(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}
