/** The Installation's status, made anew from what is so now; only times and first contact are carried over. */
import {
  type Installation,
  type InstallationStatus,
  IPAM_FIELDS,
  type IpamField,
  type IpamSettings,
} from "../../src/api/installation.ts";
import type { Condition } from "../../src/api/meta.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { escapeLine } from "../../src/escape.ts";
import { DEFAULT_CONFIG, effectiveConfig } from "../../src/ipam/config.ts";
import { byName, type DriftEntry, type DriftVerdict, describeDrift } from "./drift.ts";
import { meaningOf, type Outcome } from "./reasons.ts";
import type { Surroundings } from "./surroundings.ts";
import { type Difference, managedFields } from "./values.ts";
import { warningsFor } from "./warnings.ts";

export interface Reconciled {
  readonly installation: Installation;
  readonly outcome: Outcome;
  /** The configuration as stored after this reconcile; `unread` where it could not, or was not to, be read. */
  readonly stored: IPAMConfiguration | undefined | "unread";
  readonly otherNames: readonly string[];
  /** What was put back in fact, and what is left alone. */
  readonly drift: DriftVerdict;
  /** What was written because the user asked for it. */
  readonly configured: readonly Difference[];
  /** What the configuration was created with, where there was none. */
  readonly created?: IpamSettings | undefined;
  readonly surroundings: Surroundings;
  readonly now: Date;
}

/** The whole status after one reconcile. */
export function statusOf(reconciled: Reconciled): InstallationStatus {
  const { installation, outcome, surroundings, now } = reconciled;
  const before = installation.status ?? {};
  return withoutUndefined({
    ...before,
    observedGeneration: installation.metadata.generation,
    conditions: [...conditionsOf(installation, outcome, now), ...foreignConditions(before)],
    datastore: { apiGroup: surroundings.datastore.apiGroup, chosenBy: surroundings.datastore.chosenBy },
    ...(reconciled.stored === "unread" ? {} : configurationPart(reconciled, reconciled.stored)),
  });
}

function configurationPart(reconciled: Reconciled, stored: IPAMConfiguration | undefined): InstallationStatus {
  const { installation, surroundings, otherNames, drift } = reconciled;
  const config = effectiveConfig(stored?.spec);
  const latest = drift.corrected.at(-1);
  const known = installation.status?.adoptedAt === undefined ? adoption(stored, reconciled.now) : installation.status;
  return {
    effective: config,
    fields: IPAM_FIELDS.map((name) => ({
      name,
      value: String(config[name]),
      source: sourceOf(installation, name, stored, known.adopted ?? []),
    })),
    warnings: warningsFor(config, surroundings, otherNames),
    applied: appliedAfter(installation, stored),
    drift: driftAfter(reconciled, stored),
    lastDrift: latest ? describeDrift(latest) : installation.status?.lastDrift,
    adopted: known.adopted,
    adoptedAt: known.adoptedAt,
  };
}

/** What was found stored at first contact; kept for ever, so that an admin can go back to it. */
export function adoption(stored: IPAMConfiguration | undefined, now: Date): InstallationStatus {
  const found = IPAM_FIELDS.filter((name) => stored?.spec[name] !== undefined);
  return {
    adopted: found.map((name) => ({ name, value: String(stored?.spec[name]) })),
    adoptedAt: now.toISOString(),
  };
}

function sourceOf(
  installation: Installation,
  name: IpamField,
  stored: IPAMConfiguration | undefined,
  adopted: NonNullable<InstallationStatus["adopted"]>,
) {
  const config = effectiveConfig(stored?.spec);
  if (stored && managedFields(installation).some(([field, wanted]) => field === name && wanted === config[name])) {
    return "Installation";
  }
  const found = adopted.some((entry) => entry.name === name);
  const present = stored?.spec[name] !== undefined;
  // A default that the API server or this operator filled in is nobody's choice.
  return present && (found || config[name] !== DEFAULT_CONFIG[name]) ? "Existing" : "Default";
}

/** Remembered through every detour (a lock, a failed write, a pause): only a value that is in force replaces it. */
function appliedAfter(installation: Installation, stored: IPAMConfiguration | undefined) {
  const config = effectiveConfig(stored?.spec);
  return managedFields(installation).flatMap(([name, wanted]) => {
    const inForce = stored !== undefined && config[name] === wanted;
    const before = installation.status?.applied?.find((entry) => entry.name === name);
    if (inForce && installation.spec.managementPolicy === "Enforce") return [{ name, value: String(wanted) }];
    return before ? [before] : [];
  });
}

/** One entry per field; a suspension is over once the field has the value that was wanted, an intent once it was tried. */
function driftAfter({ installation, drift }: Reconciled, stored: IPAMConfiguration | undefined): DriftEntry[] {
  const judged = [...drift.corrected, ...drift.suspended];
  const config = effectiveConfig(stored?.spec);
  const kept = (installation.status?.drift ?? []).filter(
    ({ name, suspended, pending, wanted }) =>
      !judged.some((entry) => entry.name === name) && !pending && !(suspended && String(config[name]) === wanted),
  );
  return [...kept, ...judged].sort(byName);
}

/** Ready always, and the abnormal condition of the reason while it holds: never Stalled and Reconciling together. */
export function conditionsOf(installation: Installation, outcome: Outcome, now: Date): Condition[] {
  const before = installation.status?.conditions ?? [];
  if (outcome.reason === "Paused") return pausedConditions(installation, outcome, now);
  const { ready, abnormal } = meaningOf(outcome.reason);
  const made = (type: string, status: Condition["status"]) =>
    condition(before, { type, status, ...outcome, observedGeneration: installation.metadata.generation }, now);
  return [made("Ready", ready), ...(abnormal ? [made(abnormal, "True")] : [])];
}

const OWN_TYPES: readonly string[] = ["Ready", "Reconciling", "Stalled"];

/** Those that this operator sets. */
export const ownConditions = (status: InstallationStatus | undefined): Condition[] =>
  (status?.conditions ?? []).filter(({ type }) => OWN_TYPES.includes(type));

/** Those of other writers, which stay as they are. */
export const foreignConditions = (status: InstallationStatus | undefined): Condition[] =>
  (status?.conditions ?? []).filter(({ type }) => !OWN_TYPES.includes(type));

const WHILE_PAUSED = "when it was paused: ";

/** A pause changes nothing of whether the configuration has converged; what was under way is not known any more. */
function pausedConditions(installation: Installation, outcome: Outcome, now: Date): Condition[] {
  const before = installation.status?.conditions ?? [];
  const { generation: observedGeneration } = installation.metadata;
  const isTrue = (name: string) => before.find(({ type, status }) => type === name && status === "True");
  const stalled = isTrue("Stalled");
  const status = stalled ? "False" : isTrue("Ready") ? "True" : "Unknown";
  const ready = condition(before, { type: "Ready", status, ...outcome, observedGeneration }, now);
  if (!stalled) return [ready];
  const message = stalled.message.startsWith(WHILE_PAUSED) ? stalled.message : WHILE_PAUSED + stalled.message;
  return [ready, condition(before, { ...stalled, message, observedGeneration }, now)];
}

type NewCondition = Omit<Condition, "lastTransitionTime" | "observedGeneration"> & {
  readonly observedGeneration: number | undefined;
};

function condition(before: readonly Condition[], next: NewCondition, now: Date): Condition {
  const previous = before.find(({ type }) => type === next.type);
  const { observedGeneration, ...rest } = next;
  return {
    ...rest,
    lastTransitionTime: previous?.status === next.status ? previous.lastTransitionTime : now.toISOString(),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
}

/** An absent field and an undefined one are the same on the wire; here they must compare as the same. */
function withoutUndefined(status: InstallationStatus): InstallationStatus {
  const entries = Object.entries(status).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([field, value]) => [field, escaped(value)]));
}

/** Texts name other objects and repeat the API server, and are shown to people. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return escapeLine(value);
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, escaped(part)]));
}
