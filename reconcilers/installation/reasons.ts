/**
 * The closed list of reasons: what each means for the conditions, whether it is told as an event, and when to look
 * again. Conditions, events, log lines and the reference page all read this table.
 */
import type { Condition } from "../../src/api/meta.ts";

export interface ReasonMeaning {
  readonly ready: Condition["status"];
  /** The abnormal condition that is true beside Ready while the reason holds. */
  readonly abnormal?: "Stalled" | "Reconciling";
  readonly event: "Normal" | "Warning";
  /** Look again after so long although nothing changed, milliseconds. Absent: a watch tells. */
  readonly retryMs?: number;
  /** What the user does about it. */
  readonly action: string;
}

const SOON = 30_000;
const SLOW = 300_000;

export const REASONS = {
  Succeeded: { ready: "True", event: "Normal", action: "nothing" },
  Observed: { ready: "True", event: "Normal", action: "set managementPolicy: Enforce to have the difference removed" },
  NotApplicable: {
    ready: "True",
    event: "Normal",
    action: "nothing: this cluster's addresses are not Calico's to manage",
  },
  Paused: { ready: "True", event: "Normal", action: "set managementPolicy: Enforce or Observe to go on" },
  Progressing: { ready: "Unknown", abnormal: "Reconciling", event: "Normal", action: "wait" },
  Unavailable: { ready: "Unknown", abnormal: "Reconciling", event: "Warning", action: "check the API server" },
  DatastoreLocked: {
    ready: "False",
    abnormal: "Reconciling",
    event: "Warning",
    action: "wait for the migration to end, or unlock with `calicoctl datastore migrate unlock`",
  },
  InvalidSpec: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SLOW,
    action: "change the field that the message names",
  },
  APINotInstalled: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SOON,
    action: "install the CRDs that the message names",
  },
  Forbidden: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SOON,
    action: "apply the operator's role",
  },
  OwnedByOther: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "change the field where its owner keeps it, or take the field out of the Installation",
  },
  DriftFight: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "stop the other writer, or take the field out of the Installation",
  },
  FieldNotServed: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "upgrade Calico's CRDs, or take the field out of the Installation",
  },
  WindowsNeedsStrictAffinity: {
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "set spec.ipam.strictAffinity: true",
  },
} as const satisfies Record<string, ReasonMeaning>;

export type Reason = keyof typeof REASONS;

/** What a reconcile came to, in one word and one sentence or more. */
export interface Outcome {
  readonly reason: Reason;
  readonly message: string;
}

/** The reason's meaning, with the optional parts visible to the type checker. */
export const meaningOf = (reason: Reason): ReasonMeaning => REASONS[reason];
