/**
 * The closed list of reasons: what each means for the conditions, the type of its event, and when to look
 * again. Conditions, events, log lines and the reference page all read this table.
 */
import type { Condition } from "../../src/api/meta.ts";

export interface ReasonMeaning {
  readonly ready: Condition["status"];
  /** The abnormal condition that is true beside Ready while the reason holds. */
  readonly abnormal?: "Stalled" | "Reconciling";
  readonly event: "Normal" | "Warning";
  /** What is so while the reason holds, in sentences. */
  readonly meaning: string;
  /** Look again after so long although nothing changed, milliseconds. Absent: a watch tells. */
  readonly retryMs?: number;
  /** What the user does about it. */
  readonly action: string;
}

const SOON = 30_000;
const SLOW = 300_000;

export const REASONS = {
  Succeeded: {
    meaning: "The stored configuration matches the Installation.",
    ready: "True",
    event: "Normal",
    action: "nothing",
  },
  Observed: {
    meaning: "managementPolicy is Observe, and the stored configuration differs. The message names the fields.",
    ready: "True",
    event: "Normal",
    action: "set managementPolicy: Enforce to apply the settings",
  },
  NotApplicable: {
    meaning: "The cluster uses another IPAM than Calico's. The operator writes nothing.",
    ready: "True",
    event: "Normal",
    action: "nothing; Calico does not manage this cluster's addresses",
  },
  Paused: {
    meaning: "managementPolicy is Paused. The operator neither compares nor writes.",
    ready: "True",
    event: "Normal",
    action: "set managementPolicy: Enforce or Observe to resume",
  },
  Progressing: {
    meaning: "The operator is writing the configuration for the first time.",
    ready: "Unknown",
    abnormal: "Reconciling",
    event: "Normal",
    action: "wait",
  },
  Unavailable: {
    meaning: "The API server cannot be reached, or refuses requests for now. The operator retries.",
    ready: "Unknown",
    abnormal: "Reconciling",
    event: "Warning",
    action: "check the API server",
  },
  DatastoreLocked: {
    meaning: "A migration has locked Calico's data. The operator resumes when it is unlocked.",
    ready: "False",
    abnormal: "Reconciling",
    event: "Warning",
    action: "wait for the migration to end, or unlock with `calicoctl datastore migrate unlock`",
  },
  InvalidSpec: {
    meaning:
      "The resulting configuration would break a rule, or the API server refuses it. The last valid one stays in force.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SLOW,
    action: "change the field that the message names",
  },
  APINotInstalled: {
    meaning: "The CRDs that the message names are not installed.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SOON,
    action: "install the CRDs that the message names",
  },
  Forbidden: {
    meaning: "The operator lacks a permission.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    retryMs: SOON,
    action: "apply the operator's role, rbac/operator.yaml",
  },
  OwnedByOther: {
    meaning: "Another manager, such as Helm, Argo CD or Flux, manages a field that differs.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "change the field where its owner manages it, or remove it from the Installation",
  },
  DriftFight: {
    meaning:
      "Another writer keeps changing a field. The operator reverted it three times within ten minutes and stopped.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "stop the other writer, or remove the field from the Installation",
  },
  FieldNotServed: {
    meaning:
      "An installed CRD lacks a field, so the API server would drop the setting. The other settings are written.",
    ready: "False",
    abnormal: "Stalled",
    event: "Warning",
    action: "upgrade Calico's CRDs, or remove the field from the Installation",
  },
  WindowsNeedsStrictAffinity: {
    meaning: "The cluster has Windows nodes, and strictAffinity is not true.",
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
