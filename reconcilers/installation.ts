/**
 * Turns the Installation into the IPAMConfiguration `default`: reads, decides (`installation/decide.ts`), writes through
 * setIPAMConfig, and says in status and events what was done and why something was not. It may run again at any moment.
 */
import { isDeepStrictEqual } from "node:util";
import {
  INSTALLATION_API_VERSION,
  INSTALLATION_KIND,
  type Installation,
  type IpamField,
  type IpamSettings,
  SINGLETON_NAME,
} from "../src/api/installation.ts";
import type { IPAMConfiguration } from "../src/api/v3.ts";
import { type Datastore, isDatastoreError } from "../src/datastore/datastore.ts";
import { effectiveConfig, setIPAMConfig } from "../src/ipam/config.ts";
import { sleep } from "../src/kube/backoff.ts";
import { LostRace, type ReconcileContext, type ReconcileResult, type Reconciler } from "../src/operator/controller.ts";
import type { EventRecorder } from "../src/operator/events.ts";
import { endsWithin } from "../src/operator/shutdown.ts";
import { announce } from "./installation/announce.ts";
import { type Decision, decide, type Situation } from "./installation/decide.ts";
import { intended, isIntended, NO_DRIFT, putBackBefore } from "./installation/drift.ts";
import { outcomeOfFailure, UnreadableConfiguration } from "./installation/failure.ts";
import { meaningOf, type Outcome } from "./installation/reasons.ts";
import { adoption, conditionsOf, type Reconciled, statusOf } from "./installation/status.ts";
import { type Surroundings, UNDECIDED } from "./installation/surroundings.ts";
import type { Difference } from "./installation/values.ts";
import { writeStatus } from "./installation/write-status.ts";

export interface InstallationReconcilerOptions {
  readonly datastore: Datastore;
  /** The cluster as the watches show it now. */
  readonly surroundings: () => Surroundings;
  readonly events: EventRecorder;
  readonly clock: () => Date;
}

/** The reconciler of the one Installation, `default`. */
export function createInstallationReconciler(options: InstallationReconcilerOptions): Reconciler {
  const [group = ""] = INSTALLATION_API_VERSION.split("/");
  return {
    name: "installation",
    group,
    kind: INSTALLATION_KIND,
    reconcile: (key, context) =>
      decideAgain(async () => {
        const installation = await read(options.datastore, key, context.signal);
        return installation ? reconcileInstallation(installation, options, context) : {};
      }, context.signal),
  };
}

/** Tries at once before the queue delays the next: under steady edits of others one of a few meets none. */
const TRIES = 20;
/** Longest pause in between: a random one, as edits at a steady rate would meet each try of a steady rate. */
const PAUSE_MS = 50;

/** A lost race is decided again from the start, so that a pause or an owner that came in between is respected. */
async function decideAgain<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof LostRace) || tries === TRIES) throw error;
    }
    await sleep(Math.random() * PAUSE_MS, signal);
    signal.throwIfAborted();
  }
}

async function reconcileInstallation(
  read: Installation,
  options: InstallationReconcilerOptions,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const surroundings = options.surroundings();
  const installation = withMemoryOf(surroundings, read);
  let found: Found = { read, installation, surroundings, now: options.clock(), ...NOTHING_READ };
  let reconciled: Reconciled;
  let failure: unknown;
  let isIntent = false;
  try {
    found = { ...found, ...(await readConfigurations(found, options, context)) };
    const decision = decide({ ...found, stored: found.stored === "unread" ? undefined : found.stored });
    found = await remember(found, decision, options, context);
    isIntent = found.installation !== installation || decision.drift.corrected.length > 0;
    reconciled = await act(found, decision, options, context);
  } catch (error) {
    if (isDatastoreError(error, "NotFound") && error.kind === INSTALLATION_KIND) return {};
    const outcome = outcomeOfFailure(error, found.surroundings);
    if (!outcome) throw isDatastoreError(error, "Conflict", "AlreadyExists", "NotFound") ? lostRace(error) : error;
    // What is about to be put back may have been: only the next look tells.
    const known = isIntent ? NOTHING_READ : {};
    reconciled = { ...found, ...known, outcome, drift: NO_DRIFT, configured: [] };
    if (outcome.reason === "Unavailable") failure = error;
  }
  await report(found.read, reconciled, options, context);
  // Thrown only now: the manager tries again soon, and until then the status says why.
  if (failure) throw failure;
  return retryLater(reconciled.outcome);
}

/** What was in force in another datastore, and drifted there, says nothing of what is stored in this one. */
function withMemoryOf({ datastore }: Surroundings, installation: Installation): Installation {
  const { applied: _, drift: __, ...status } = installation.status ?? {};
  const [before, now] = [status.datastore?.apiGroup, datastore.apiGroup];
  const isOther = before !== undefined && ![before, now].includes(UNDECIDED) && before !== now;
  return isOther ? { ...installation, status } : installation;
}

const lostRace = (error: Error) => new LostRace(error.message, { cause: error });

interface Found extends Omit<Situation, "stored">, Configurations {
  /** The Installation as it is stored: its status is what the next one is written over. */
  readonly read: Installation;
}

/** Writes what was decided; nothing is reported yet. */
async function act(
  found: Found,
  decision: Decision,
  options: InstallationReconcilerOptions,
  context: ReconcileContext,
): Promise<Reconciled> {
  const { drift, written, outcome } = decision;
  const before = found.stored === "unread" ? [] : putBackBefore(found.installation, found.stored);
  if (found.stored === "unread" || Object.keys(decision.changes).length === 0) {
    return { ...found, outcome, drift: { ...drift, corrected: before }, configured: [] };
  }
  const stored = await write(found.stored, decision, options, context);
  const kept = written.filter(({ field, wanted }) => effectiveConfig(stored?.spec)[field] === wanted);
  const putBack = drift.corrected.filter(({ name }) => kept.some(({ field }) => field === name));
  const corrected = [...before, ...putBack];
  const configured = kept.filter(({ field }) => !corrected.some(({ name }) => name === field));
  const created =
    found.stored === undefined && corrected.length === 0 ? settingsIn(stored, decision.changes) : undefined;
  const told = { outcome: notKept(written, stored) ?? outcome, drift: { ...drift, corrected }, configured, created };
  return { ...found, stored, ...told };
}

/** Those of the changes that are stored now. */
function settingsIn(stored: IPAMConfiguration | undefined, changes: IpamSettings): IpamSettings {
  const config = effectiveConfig(stored?.spec);
  return Object.fromEntries(Object.entries(changes).filter(([field, value]) => config[field as IpamField] === value));
}

interface Configurations {
  readonly stored: IPAMConfiguration | undefined | "unread";
  /** Configurations under another name, which nobody reads. */
  readonly otherNames: readonly string[];
}

const NOTHING_READ: Configurations = { stored: "unread", otherNames: [] };

/** Paused and blocked Installations are answered without a look at the configuration. */
async function readConfigurations(
  { installation, surroundings }: Pick<Situation, "installation" | "surroundings">,
  { datastore }: InstallationReconcilerOptions,
  { signal }: ReconcileContext,
): Promise<Configurations> {
  if (installation.spec.managementPolicy === "Paused" || surroundings.blocked) return NOTHING_READ;
  const { items, malformed } = await datastore.list("IPAMConfiguration", { signal });
  const unreadable = malformed.find(({ name }) => name === SINGLETON_NAME);
  if (unreadable) throw new UnreadableConfiguration(unreadable.reason);
  const names = [...items.map(({ metadata }) => metadata.name), ...malformed.map(({ name }) => name)];
  return {
    stored: items.find(({ metadata }) => metadata.name === SINGLETON_NAME),
    otherNames: names.filter((name) => name !== SINGLETON_NAME),
  };
}

/** Kept before the write, as a crash after it must not lose them: the values of first contact, and what is put back. */
async function remember(
  found: Found,
  { changes, drift }: Decision,
  { datastore }: InstallationReconcilerOptions,
  { signal }: ReconcileContext,
): Promise<Found> {
  const { read, installation, stored, now } = found;
  const { status: before } = installation;
  const isFirst = before?.adoptedAt === undefined && Object.keys(changes).length > 0;
  if (!isFirst && isIntended(before?.drift ?? [], drift.corrected)) return found;
  const progressing = { reason: "Progressing", message: "writing the configuration for the first time" } as const;
  const status = {
    ...before,
    ...(isFirst && adoption(stored === "unread" ? undefined : stored, now)),
    ...(isFirst && { conditions: conditionsOf(installation, progressing, now) }),
    ...(drift.corrected.length > 0 && { drift: intended(before?.drift ?? [], drift.corrected) }),
  };
  const remembered = await writeStatus(read, status, datastore, signal);
  // The spec may say Paused by now: nothing is written before it has been looked at.
  if (remembered.metadata.generation !== installation.metadata.generation) {
    throw new LostRace(`the spec of Installation "${installation.metadata.name}" was changed meanwhile`);
  }
  return { ...found, read: remembered, installation: remembered };
}

/** Writes onto what the decision was made from. @returns what is stored now */
async function write(
  object: IPAMConfiguration | undefined,
  { changes }: Decision,
  { datastore }: InstallationReconcilerOptions,
  { signal }: ReconcileContext,
): Promise<IPAMConfiguration | undefined> {
  try {
    return (await setIPAMConfig(datastore, changes, { signal, onto: { object } })).object;
  } catch (error) {
    if (!isDatastoreError(error, "Unavailable")) throw error;
    // The answer may be what was lost, not the write.
    const now = await find(() => datastore.get("IPAMConfiguration", SINGLETON_NAME, { signal })).catch(() => undefined);
    const config = effectiveConfig(now?.spec);
    if (now && Object.entries(changes).every(([field, wanted]) => config[field as IpamField] === wanted)) return now;
    throw error;
  }
}

/** The server said yes and stored something else: a field that the CRD does not know, or somebody on the way. */
function notKept(written: readonly Difference[], stored: IPAMConfiguration | undefined): Outcome | undefined {
  const config = effectiveConfig(stored?.spec);
  const altered = written.filter(({ field, wanted }) => config[field] !== wanted);
  if (altered.length === 0) return undefined;
  const fields = altered.map(({ field }) => field).join(", ");
  if (altered.some(({ field }) => stored?.spec[field] !== undefined)) {
    const message = `the API server accepted the write but stored another value of ${fields}: a mutating admission policy or webhook changes it`;
    return { reason: "OwnedByOther", message };
  }
  const message = `the API server accepted the write but did not keep ${fields}: the served CRD does not know it. Upgrade Calico's CRDs`;
  return { reason: "FieldNotServed", message };
}

/** A status that says what was told already waits this long for the telling. */
const EVENTS_MS = 2000;

/**
 * Events first: a status that cannot be written must not swallow them, and one that is written before them would let
 * the next process believe that they were told, if this one ends in between.
 */
async function report(
  read: Installation,
  reconciled: Reconciled,
  { datastore, events }: InstallationReconcilerOptions,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const { installation, outcome } = reconciled;
  const status = statusOf(reconciled);
  announce(events, reconciled, status);
  if (isDeepStrictEqual(status, installation.status)) return;
  log[meaningOf(outcome.reason).event === "Warning" ? "warn" : "info"]({ reason: outcome.reason }, outcome.message);
  if (events.flush) await endsWithin(EVENTS_MS, events.flush(), log);
  await writeStatus(read, status, datastore, signal).catch((error: unknown) => {
    if (!isDatastoreError(error, "NotFound")) throw error;
  });
}

function retryLater({ reason }: Outcome): ReconcileResult {
  const { retryMs } = meaningOf(reason);
  return retryMs === undefined ? {} : { requeueAfterMs: retryMs };
}

const read = (datastore: Datastore, name: string, signal: AbortSignal): Promise<Installation | undefined> =>
  find(() => datastore.get("Installation", name, { signal }));

async function find<T>(get: () => Promise<T>): Promise<T | undefined> {
  try {
    return await get();
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}
