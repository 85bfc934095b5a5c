/**
 * Drift: a managed field that this operator had set and somebody changed. It is put back, but not for ever: after
 * three corrections of one field within ten minutes the operator gives way until the spec or the field changes.
 * The memory is the status itself, so that it outlives a restart and a change of leader.
 */
import type { Installation, InstallationStatus } from "../../src/api/installation.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { effectiveConfig } from "../../src/ipam/config.ts";
import type { Difference } from "./values.ts";
import { writerOf } from "./writer.ts";

export type DriftEntry = NonNullable<InstallationStatus["drift"]>[number];

export const MAX_CORRECTIONS = 3;
export const CORRECTION_WINDOW_MS = 600_000;

export interface DriftVerdict {
  /** Fields put back once more. */
  readonly corrected: readonly DriftEntry[];
  /** Fields no longer put back. */
  readonly suspended: readonly DriftEntry[];
}

/** Judges which of the differences are drift, and which of those are put back once more. */
export function judgeDrift(
  installation: Installation,
  found: readonly Difference[],
  object: IPAMConfiguration | undefined,
  now: Date,
): DriftVerdict {
  const entries = found
    .filter((difference) => isDrift(installation, difference))
    .map((difference) => judge(installation, difference, object, now));
  return {
    corrected: entries.filter(({ suspended }) => !suspended),
    suspended: entries.filter(({ suspended }) => suspended),
  };
}

/** Only a value that was in force by our hand can drift; all else is a change the user asks for now. */
function isDrift({ status }: Installation, { field, wanted }: Difference): boolean {
  return status?.applied?.some(({ name, value }) => name === field && value === String(wanted)) ?? false;
}

function judge(installation: Installation, difference: Difference, object: IPAMConfiguration | undefined, now: Date) {
  const { field, found, wanted } = difference;
  const remembered = installation.status?.drift?.find(({ name }) => name === field);
  const entry = {
    name: field,
    found: String(found),
    wanted: String(wanted),
    manager: writerOf(object, field),
    time: now.toISOString(),
  };
  if (rememberedSuspension(installation, field)?.found === entry.found) return remembered as DriftEntry;
  const recent = remembered?.suspended ? [] : withinWindow(remembered?.corrections ?? [], now);
  if (recent.length >= MAX_CORRECTIONS) return { ...entry, corrections: recent, suspended: true };
  return { ...entry, corrections: [...recent, entry.time] };
}

/** A suspension ends with the spec that it was made under. */
function rememberedSuspension({ metadata, status }: Installation, field: Difference["field"]): DriftEntry | undefined {
  const entry = status?.drift?.find(({ name }) => name === field);
  return entry?.suspended && status?.observedGeneration === metadata.generation ? entry : undefined;
}

/** The memory as it is kept before `corrected` are put back: a crash after that must not lose who did what. */
export function intended(before: readonly DriftEntry[], corrected: readonly DriftEntry[]): DriftEntry[] {
  const intents = corrected.map((entry) => ({ ...entry, corrections: entry.corrections.slice(0, -1), pending: true }));
  return [...before.filter(({ name }) => !corrected.some((entry) => entry.name === name)), ...intents].sort(byName);
}

/** Whether all of `corrected` are kept as intents already: an earlier try lost its race after it had kept them. */
export function isIntended(before: readonly DriftEntry[], corrected: readonly DriftEntry[]): boolean {
  return corrected.every(({ name, found, wanted }) =>
    before.some((entry) => entry.pending && entry.name === name && entry.found === found && entry.wanted === wanted),
  );
}

/** What was about to be put back when an earlier reconcile ended in the middle, and has been. */
export function putBackBefore({ status }: Installation, stored: IPAMConfiguration | undefined): DriftEntry[] {
  const config = effectiveConfig(stored?.spec);
  return (status?.drift ?? [])
    .filter(({ pending, name, wanted }) => pending && String(config[name]) === wanted)
    .map(({ pending: _, ...entry }) => ({ ...entry, corrections: [...entry.corrections, entry.time] }));
}

export const byName = (a: DriftEntry, b: DriftEntry): number => a.name.localeCompare(b.name);

const withinWindow = (times: readonly string[], now: Date) =>
  times.filter((time) => now.getTime() - Date.parse(time) < CORRECTION_WINDOW_MS);

/** Nothing drifted, or nothing was looked at. */
export const NO_DRIFT: DriftVerdict = { corrected: [], suspended: [] };

/** What happened, for an event and for `status.lastDrift`. */
export const describeDrift = ({ name, found, wanted, manager }: DriftEntry): string =>
  `${name} of the stored configuration was changed to ${found} by ${manager}; reverted to ${wanted}`;
