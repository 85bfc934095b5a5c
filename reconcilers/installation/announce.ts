/** Which events a reconcile is worth: on transitions only, never per loop. */
import type { Installation, InstallationStatus } from "../../src/api/installation.ts";
import type { EventRecorder } from "../../src/operator/events.ts";
import { describeDrift } from "./drift.ts";
import { meaningOf } from "./reasons.ts";
import type { Reconciled } from "./status.ts";
import { describeCreation, describeDifferences } from "./values.ts";

const ACTION = "Reconcile";

/** Records the events of one reconcile whose status is to be `status`. */
export function announce(events: EventRecorder, reconciled: Reconciled, status: InstallationStatus): void {
  const { installation, outcome, drift, configured, created } = reconciled;
  const tell = (type: "Normal" | "Warning", reason: string, note: string) =>
    events.event(installation, type, reason, note, ACTION);
  for (const entry of drift.corrected) tell("Warning", "Drift", describeDrift(entry));
  if (created) tell("Normal", "Configured", `created ${describeCreation(created)}`);
  else if (configured.length > 0) tell("Normal", "Configured", `changed ${describeDifferences(configured)}`);
  if (reasonBefore(installation) !== outcome.reason) {
    tell(meaningOf(outcome.reason).event, outcome.reason, outcome.message);
  }
  for (const { type, message } of newWarnings(installation, status)) tell("Warning", type, message);
}

const reasonBefore = ({ status }: Installation) => status?.conditions?.find(({ type }) => type === "Ready")?.reason;

const newWarnings = (installation: Installation, status: InstallationStatus) =>
  (status.warnings ?? []).filter(
    ({ type, message }) =>
      !installation.status?.warnings?.some((known) => known.type === type && known.message === message),
  );
