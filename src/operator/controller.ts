/** What a reconciler is to the manager. The manager watches, queues, retries and elects; a reconciler decides and writes. */
import type { Logger } from "pino";

export interface ReconcileContext {
  readonly signal: AbortSignal;
  /** Carries controller, controllerGroup, controllerKind, name and reconcileID on every line. */
  readonly log: Logger;
}

/** When to come back; nothing means: on the next change. */
export interface ReconcileResult {
  readonly requeueAfterMs?: number;
}

/** A failure that trying again cannot mend: counted and logged, not retried until the next change. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Somebody else wrote first: nothing is wrong, and all is decided anew from what they wrote. No error to log or count. */
export class LostRace extends Error {
  override readonly name = "LostRace";
}

export interface Reconciler {
  /** Label `controller` of metrics and logs. */
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  /** May run again at any moment, never twice at once for one key. */
  reconcile(key: string, context: ReconcileContext): Promise<ReconcileResult>;
}
