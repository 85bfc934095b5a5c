/**
 * Turns the Installation into the IPAMConfiguration `default`: reads, decides (`installation/decide.ts`), writes through
 * setIPAMConfig, and says in status and events what was done and why something was not. It may run again at any moment.
 */
import { isDeepStrictEqual } from "node:util";
import {
  INSTALLATION_API_VERSION,
  INSTALLATION_KIND,
  type Installation,
  type IpamSettings,
  SINGLETON_NAME,
} from "../src/api/installation.ts";
import type { IPAMConfiguration } from "../src/api/v3.ts";
import { type Datastore, isDatastoreError } from "../src/datastore/datastore.ts";
import { setIPAMConfig } from "../src/ipam/config.ts";
import type { ReconcileContext, ReconcileResult, Reconciler } from "../src/operator/controller.ts";
import type { EventRecorder } from "../src/operator/events.ts";
import { announce } from "./installation/announce.ts";
import { type Decision, decide, type Situation } from "./installation/decide.ts";
import { outcomeOfFailure, UnreadableConfiguration } from "./installation/failure.ts";
import { meaningOf, type Outcome } from "./installation/reasons.ts";
import { adoption, conditionsOf, type Reconciled, statusOf } from "./installation/status.ts";
import type { Surroundings } from "./installation/surroundings.ts";

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
    reconcile: async (key, context) => {
      const installation = await read(options.datastore, key, context.signal);
      return installation ? reconcileInstallation(installation, options, context) : {};
    },
  };
}

async function reconcileInstallation(
  installation: Installation,
  options: InstallationReconcilerOptions,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const now = options.clock();
  const surroundings = options.surroundings();
  const before = { installation, surroundings, now };
  let current = installation;
  let found: Configurations = NOTHING_READ;
  try {
    found = await readConfigurations(before, options, context);
    const situation: Situation = { ...before, stored: found.stored === "unread" ? undefined : found.stored };
    const decision = decide(situation);
    current = await rememberFirstContact(situation, decision, options, context);
    const { stored, outcome } = await write(found.stored, decision, options, context);
    const reconciled = { ...before, ...found, installation: current, outcome, stored, ...driftOf(decision) };
    await report(reconciled, decision, options, context);
    return retryLater(outcome);
  } catch (error) {
    if (isDatastoreError(error, "NotFound") && error.kind === INSTALLATION_KIND) return {};
    const outcome = outcomeOfFailure(error, surroundings);
    if (!outcome) throw error;
    await report(
      { ...before, ...found, installation: current, outcome, drift: [], corrected: [] },
      undefined,
      options,
      context,
    );
    if (outcome.reason === "Unavailable") throw error;
    return retryLater(outcome);
  }
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

/** The values found are kept before the first write: a crash in between must not lose them. */
async function rememberFirstContact(
  { installation, stored, now }: Situation,
  { changes }: Decision,
  { datastore }: InstallationReconcilerOptions,
  { signal }: ReconcileContext,
): Promise<Installation> {
  if (installation.status?.adoptedAt !== undefined || Object.keys(changes).length === 0) return installation;
  const progressing = { reason: "Progressing", message: "writing the configuration for the first time" } as const;
  const status = {
    ...installation.status,
    ...adoption(stored, now),
    conditions: conditionsOf(installation, progressing, now),
  };
  return datastore.updateStatus({ ...installation, status }, { signal });
}

async function write(
  stored: Configurations["stored"],
  { changes, outcome }: Decision,
  { datastore }: InstallationReconcilerOptions,
  { signal }: ReconcileContext,
): Promise<{ readonly stored: Configurations["stored"]; readonly outcome: Outcome }> {
  if (Object.keys(changes).length === 0) return { stored, outcome };
  const { object, config } = await setIPAMConfig(datastore, changes, { signal });
  const dropped = (Object.keys(changes) as (keyof IpamSettings)[]).filter((field) => config[field] !== changes[field]);
  if (dropped.length === 0) return { stored: object, outcome };
  const message = `the API server accepted the write but did not keep ${dropped.join(", ")}: the served CRD does not know it. Upgrade Calico's CRDs`;
  return { stored: object, outcome: { reason: "FieldNotServed", message } };
}

const driftOf = ({ drift }: Decision) => ({ drift: drift.entries, corrected: drift.corrected });

async function report(
  reconciled: Reconciled,
  decision: Decision | undefined,
  { datastore, events }: InstallationReconcilerOptions,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const { installation, outcome, corrected } = reconciled;
  const status = statusOf(reconciled);
  const drifted = new Set(corrected.map(({ name }) => name));
  const configured = (decision?.written ?? []).filter(({ field }) => !drifted.has(field));
  if (!isDeepStrictEqual(status, installation.status)) {
    log.info({ reason: outcome.reason }, outcome.message);
    await datastore.updateStatus({ ...installation, status }, { signal });
  }
  announce(events, { installation, outcome, status, corrected, configured });
}

function retryLater({ reason }: Outcome): ReconcileResult {
  const { retryMs } = meaningOf(reason);
  return retryMs === undefined ? {} : { requeueAfterMs: retryMs };
}

async function read(datastore: Datastore, name: string, signal: AbortSignal): Promise<Installation | undefined> {
  try {
    return await datastore.get("Installation", name, { signal });
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}
