/**
 * What to do about an Installation, decided without touching anything: an ordered list of checks, the first that
 * speaks ends it. A check never writes; it says what would be written and why, or why nothing is.
 */

import { foreignIpamText } from "../../src/api/calico-installation.ts";
import { ownerOf } from "../../src/api/configuration-owner.ts";
import type { Installation, IpamField, IpamSettings } from "../../src/api/installation.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { apiGroups } from "../../src/datastore/flavours.ts";
import { type ConfigViolation, configViolations, effectiveConfig } from "../../src/ipam/config.ts";
import { type DriftVerdict, judgeDrift, NO_DRIFT } from "./drift.ts";
import type { Outcome } from "./reasons.ts";
import { notServed, unservedFields } from "./served.ts";
import { configurationOf, type Surroundings } from "./surroundings.ts";
import {
  changesOf,
  type Difference,
  describeCreation,
  describeDifferences,
  differences,
  managedFields,
} from "./values.ts";

/** All that a decision depends on. */
export interface Situation {
  readonly installation: Installation;
  /** The IPAMConfiguration `default` as stored; undefined where there is none. */
  readonly stored: IPAMConfiguration | undefined;
  readonly surroundings: Surroundings;
  readonly now: Date;
}

export interface Decision {
  /** What the conditions say once `changes` are written. */
  readonly outcome: Outcome;
  /** Fields to write, for setIPAMConfig; empty: write nothing. */
  readonly changes: IpamSettings;
  readonly written: readonly Difference[];
  readonly drift: DriftVerdict;
}

type Check = (situation: Situation) => Decision | undefined;

const nothing = (reason: Outcome["reason"], message: string, drift: DriftVerdict = NO_DRIFT): Decision => ({
  outcome: { reason, message },
  changes: {},
  written: [],
  drift,
});

/** Decides what one reconcile is to do. */
export function decide(situation: Situation): Decision {
  return firstOf([paused, blocked, notApplicable, observed], situation) ?? decideToEnforce(situation);
}

const decideToEnforce = (situation: Situation): Decision =>
  firstOf([invalid, locked, ownedByOther], situation) ?? enforce(situation);

function firstOf(checks: readonly Check[], situation: Situation): Decision | undefined {
  for (const check of checks) {
    const decision = check(situation);
    if (decision) return decision;
  }
  return undefined;
}

const paused: Check = ({ installation }) =>
  installation.spec.managementPolicy === "Paused"
    ? nothing("Paused", "managementPolicy is Paused: nothing is compared or written")
    : undefined;

const blocked: Check = ({ surroundings }) =>
  surroundings.blocked && nothing(surroundings.blocked.reason, surroundings.blocked.message);

const notApplicable: Check = ({ surroundings: { foreignIpam } }) =>
  foreignIpam === undefined
    ? undefined
    : nothing("NotApplicable", `${foreignIpamText(foreignIpam)}; nothing is written`);

/** Tells what Enforce would do, by deciding it. */
const observed: Check = (situation) => {
  if (situation.installation.spec.managementPolicy !== "Observe") return undefined;
  const { outcome, changes, written } = decideToEnforce(situation);
  if (outcome.reason === "Succeeded" && Object.keys(changes).length === 0) {
    return nothing("Succeeded", `${outcome.message} (managementPolicy Observe writes nothing)`);
  }
  const change = describeWrite(situation.stored, changes, written) ?? "change nothing";
  const end = outcome.reason === "Succeeded" ? "" : `, with the result ${outcome.reason}: ${outcome.message}`;
  return nothing("Observed", `managementPolicy Enforce would ${change}${end}. Observe writes nothing`);
};

function describeWrite(stored: Situation["stored"], changes: IpamSettings, written: readonly Difference[]) {
  if (Object.keys(changes).length === 0) return undefined;
  return stored ? `change ${describeDifferences(written)}` : `create ${describeCreation(changes)}`;
}

const invalid: Check = ({ installation, stored, surroundings }) => {
  const changes = changesOf(differences(installation, stored?.spec));
  const broken = brokenRules(stored, changes);
  return broken.length === 0 ? undefined : nothing("InvalidSpec", describeBroken(broken, installation, surroundings));
};

const locked: Check = ({ installation, stored, surroundings }) => {
  const found = differences(installation, stored?.spec);
  if (!surroundings.datastoreLocked || (found.length === 0 && !needsCreating({ installation, stored })))
    return undefined;
  return nothing(
    "DatastoreLocked",
    "Calico's datastore is locked (ClusterInformation default has datastoreReady: false), so nothing is written; " +
      `waiting to ${describeWrite(stored, Object.fromEntries(managedFields(installation)), found)}${afterMigration(surroundings)}`,
  );
};

/** A finished migration leaves v1 locked for ever; a group that was set by hand is not followed by the operator. */
const afterMigration = ({ datastore: { apiGroup, chosenBy } }: Surroundings): string =>
  apiGroup === apiGroups.v1 && chosenBy.startsWith("Flag")
    ? `. If Calico's data has moved to ${apiGroups.v3}, start the operator without the setting (${chosenBy})`
    : "";

const ownedByOther: Check = ({ installation, stored, surroundings }) => {
  const found = differences(installation, stored?.spec);
  const owner =
    found.length > 0
      ? ownerOf(
          stored,
          found.map(({ field }) => field),
        )
      : undefined;
  if (owner === undefined) return undefined;
  return nothing(
    "OwnedByOther",
    `${configurationOf(surroundings)} is managed by ${owner}, so the operator does not change it. Wanted: ${describeDifferences(found)}. ` +
      "Change it there, or remove the field from spec.ipam",
  );
};

/** The fields that may be written are written; what holds one back is said, and does not hold back the others. */
function enforce(situation: Situation): Decision {
  const { installation, stored, surroundings, now } = situation;
  const unserved = unservedFields(installation, surroundings);
  const windows = windowsProblem(situation);
  const impossible = new Set<IpamField>([
    ...unserved.map(({ field }) => field),
    ...(windows ? (["strictAffinity"] as const) : []),
  ]);
  const possible = differences(installation, stored?.spec).filter(({ field }) => !impossible.has(field));
  const drift = judgeDrift(installation, possible, stored, now);
  const written = possible.filter(({ field }) => !drift.suspended.some(({ name }) => name === field));
  const outcome = windows ?? notServed(unserved, surroundings) ?? fight(drift) ?? converged(situation);
  if (brokenRules(stored, changesOf(written)).length > 0) {
    const message = `${outcome.message}. Without it the other fields would break a rule, so nothing is written`;
    return nothing(outcome.reason, message, { corrected: [], suspended: drift.suspended });
  }
  return { outcome, changes: changesToWrite(situation, written), written, drift };
}

/** A configuration that is wanted but not stored yet is created even where every wanted value is the default. */
function changesToWrite({ installation, stored }: Situation, written: readonly Difference[]): IpamSettings {
  if (!needsCreating({ installation, stored })) return changesOf(written);
  const keep = new Set(written.map(({ field }) => field));
  const defaults = effectiveConfig(undefined);
  return Object.fromEntries(managedFields(installation).filter(([f, v]) => keep.has(f) || defaults[f] === v));
}

const needsCreating = ({ installation, stored }: Pick<Situation, "installation" | "stored">) =>
  stored === undefined && managedFields(installation).length > 0;

function brokenRules(stored: IPAMConfiguration | undefined, changes: IpamSettings): ConfigViolation[] {
  const merged = effectiveConfig({ ...stored?.spec, ...changes });
  // A stored value out of range that nobody is changing was let in by the CRD; it is not the Installation's to judge.
  return configViolations(merged).filter(({ scope, fields }) => scope !== "value" || fields.some((f) => f in changes));
}

function describeBroken(
  broken: readonly ConfigViolation[],
  installation: Installation,
  surroundings: Surroundings,
): string {
  const unmanaged = [...new Set(broken.flatMap(({ fields }) => fields))].filter(
    (field) => installation.spec.ipam?.[field] === undefined,
  );
  const rules = broken.map(({ message }) => message).join("; ");
  if (unmanaged.length === 0) return rules;
  const paths = unmanaged.map((field) => `spec.ipam.${field}`).join(" and ");
  return `${rules}. Not managed by this Installation and at fault in the stored ${configurationOf(surroundings)}: ${unmanaged.join(", ")}; set ${paths} here, or change it there`;
}

function windowsProblem({ installation, stored, surroundings }: Situation): Outcome | undefined {
  const nodes = surroundings.nodes.filter(({ windows }) => windows).map(({ name }) => name);
  const wanted = installation.spec.ipam?.strictAffinity ?? effectiveConfig(stored?.spec).strictAffinity;
  if (nodes.length === 0 || wanted) return undefined;
  return {
    reason: "WindowsNeedsStrictAffinity",
    message:
      `${nodes.length === 1 ? `node ${nodes[0]} runs` : `${nodes.length} nodes (${nodes[0]}, …) run`} Windows, which needs ` +
      "strictAffinity: true. Add to the Installation: spec.ipam.strictAffinity: true",
  };
}

function fight({ suspended }: DriftVerdict): Outcome | undefined {
  if (suspended.length === 0) return undefined;
  const fields = suspended.map(({ name, found, manager }) => `${name} (now ${found}, by ${manager})`).join(", ");
  return {
    reason: "DriftFight",
    message:
      `another writer keeps changing ${fields}. The operator reverted it three times within ten minutes and has stopped. ` +
      "Stop that writer, or remove the field from spec.ipam. The operator retries when the spec or the field changes",
  };
}

function converged({ installation, stored }: Situation): Outcome {
  const managed = managedFields(installation);
  if (managed.length === 0) {
    return {
      reason: "Succeeded",
      message: stored
        ? "no field is managed; the stored configuration stays as it is"
        : "no field is managed and none is stored: the defaults apply",
    };
  }
  const values = managed.map(([field, value]) => `${field}: ${value}`).join(", ");
  return { reason: "Succeeded", message: `the stored configuration has ${values}` };
}
