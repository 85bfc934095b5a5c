/** Which events a reconcile is worth: on transitions only, never per loop. */
import type { Installation, InstallationStatus } from "../../src/api/installation.ts";
import type { EventRecorder } from "../../src/operator/events.ts";
import { type DriftEntry, describeDrift } from "./drift.ts";
import { meaningOf, type Outcome } from "./reasons.ts";
import { type Difference, describeDifferences } from "./values.ts";

export interface Announcement {
  readonly installation: Installation;
  readonly outcome: Outcome;
  readonly status: InstallationStatus;
  readonly corrected: readonly DriftEntry[];
  /** What was written because the user asked for it. */
  readonly configured: readonly Difference[];
}

const ACTION = "Reconcile";

/** Records the events of one reconcile. */
export function announce(
  events: EventRecorder,
  { installation, outcome, status, corrected, configured }: Announcement,
): void {
  for (const entry of corrected) events.event(installation, "Warning", "Drift", describeDrift(entry), ACTION);
  if (configured.length > 0) {
    events.event(installation, "Normal", "Configured", `changed ${describeDifferences(configured)}`, ACTION);
  }
  if (reasonBefore(installation) !== outcome.reason) {
    events.event(installation, meaningOf(outcome.reason).event, outcome.reason, outcome.message, ACTION);
  }
  for (const { type, message } of newWarnings(installation, status)) {
    events.event(installation, "Warning", type, message, ACTION);
  }
}

const reasonBefore = ({ status }: Installation) => status?.conditions?.find(({ type }) => type === "Ready")?.reason;

const newWarnings = (installation: Installation, status: InstallationStatus) =>
  (status.warnings ?? []).filter(
    ({ type, message }) =>
      !installation.status?.warnings?.some((known) => known.type === type && known.message === message),
  );
