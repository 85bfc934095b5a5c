/** Ties the controllers to the lease: they run while it is held, and a process that cannot stop them does not live on. */
import type { Logger } from "pino";
import type { ElectorOptions } from "../kube/lease.ts";
import type { Manager } from "./manager.ts";
import type { Metrics } from "./metrics.ts";
import { endsWithin } from "./shutdown.ts";

/** Name of the lease, and of this election in metrics. */
export const LEASE_NAME = "ipam-operator";

export interface LeadershipOptions {
  readonly manager: Manager;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** The process was asked to stop. */
  readonly stop: AbortSignal;
  /** Longest the controllers may take to stop. */
  readonly graceMs: number;
  /** Ends the process: controllers that go on without the lease would write beside the next leader. */
  readonly exit?: (code: number) => void;
}

/** One term: runs the controllers until `term` aborts; resolves when they have stopped. */
export async function serveTerm(term: AbortSignal, options: LeadershipOptions): Promise<void> {
  const { manager, metrics, log, stop, graceMs, exit = process.exit } = options;
  metrics.set("leader_election_master_status", { name: LEASE_NAME }, 1);
  manager.start();
  await aborted(term);
  metrics.set("leader_election_master_status", { name: LEASE_NAME }, 0);
  // Asked to stop, the lease is still ours: what is under way may finish. Without the lease nothing more may be written.
  if (await endsWithin(graceMs, manager.stop(stop.aborted ? "drain" : "cut"), log)) return;
  log.error(`Reconciliations did not stop within ${graceMs / 1000} s; ending the process`);
  exit(1);
}

/** The elector's side of {@link serveTerm}. */
export function electorCallbacks(options: LeadershipOptions): Pick<ElectorOptions, "onStartedLeading" | "onNewLeader"> {
  options.metrics.set("leader_election_master_status", { name: LEASE_NAME }, 0);
  return {
    onStartedLeading: (term) => serveTerm(term, options),
    onNewLeader: (identity) => options.log.info({ leader: identity }, "The lease has a new holder"),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
