/** Plans a change of the configuration: in the object itself, or in the Installation that keeps it. */

import { configViolations, effectiveConfig, type IPAMConfig } from "../../api/config-rules.ts";
import { ownerOf } from "../../api/configuration-owner.ts";
import { type Installation, type IpamField, SINGLETON_NAME } from "../../api/installation.ts";
import { kindIn } from "../../api/kind-names.ts";
import { type Datastore, isDatastoreError } from "../../datastore/datastore.ts";
import { type ConfigChanges, setIPAMConfig } from "../../ipam/config.ts";
import type { Session } from "../session.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import type { Item, Plan } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { type ConfigureOptions, changesOf } from "./changes.ts";
import { keptFields, manifestOf, type StoredSettings, storedSettings } from "./stored.ts";

interface Options extends WriteOptions, ConfigureOptions {
  readonly installation?: boolean;
}

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as Options;
  const changes = changesOf(options);
  const plan = (workplace: Workplace) => planOf(workplace, changes, options.installation === true);
  return carryOut(session, { verb: "configure", options, lock: "unlocked", plan });
}

async function planOf(workplace: Workplace, changes: ConfigChanges, inInstallation: boolean): Promise<Plan> {
  const stored = await storedSettings(workplace.datastore);
  const windowsHost = await workplace.hasWindowsNodes();
  const config = resultOf(stored, changes);
  refuse(config, changes, windowsHost);
  const change = { datastore: workplace.datastore, stored, changes, config, windowsHost };
  const written = inInstallation ? intoInstallation(change) : intoConfiguration(change);
  return { kind: "Configure", title: "Change the configuration", ...written };
}

interface Change {
  readonly datastore: Datastore;
  readonly stored: StoredSettings;
  readonly changes: ConfigChanges;
  /** In force once the change is made. */
  readonly config: IPAMConfig;
  readonly windowsHost: boolean;
}

type Written = Pick<Plan, "steps" | "kept" | "notes" | "afterwards">;

/** The given fields over those that the Installation keeps, over what is stored. */
function resultOf({ configuration, installation }: StoredSettings, changes: ConfigChanges): IPAMConfig {
  const kept = installation?.spec.managementPolicy === "Enforce" ? installation.spec.ipam : {};
  return effectiveConfig({ ...configuration?.spec, ...kept, ...changes } as Partial<IPAMConfig>);
}

/** @throws Error naming every rule that the result would break */
function refuse(config: IPAMConfig, changes: ConfigChanges, windowsHost: boolean): void {
  const broken = configViolations(config, { windowsHost }).filter(
    ({ scope, fields }) => scope !== "value" || fields.some((field) => field in changes),
  );
  if (broken.length === 0) return;
  throw new Error(`the configuration would break a rule: ${broken.map(({ message }) => message).join("; ")}`);
}

function intoConfiguration({ datastore, stored, changes, config, windowsHost }: Change): Written {
  const kept = keptFields(stored).filter((field) => field in changes);
  if (kept.length > 0) {
    throw new Error(
      `${kept.join(", ")}: kept by Installation "${SINGLETON_NAME}" (managementPolicy: Enforce), which would put back any ` +
        "other value. --installation changes it there",
    );
  }
  const { configuration } = stored;
  const before = effectiveConfig(configuration?.spec);
  const kind = kindIn(datastore.description, "IPAMConfiguration");
  const item = itemOf(`${kind}/${SINGLETON_NAME}`, before, changes, config);
  const notes = notesOn(stored, changes, kind);
  if (configuration && isSame(before, config, changes))
    return { steps: [], kept: [{ ...item, why: "is so already" }], notes };
  const run = () =>
    unlessChanged(setIPAMConfig(datastore, changes, { onto: { object: configuration }, windowsHost }), item.object);
  return { steps: [{ ...item, run }], kept: [], notes, afterwards: `in force now: ${configText(config)}` };
}

/** Who will say something of the change, or take it back. */
function notesOn({ configuration, installation }: StoredSettings, changes: ConfigChanges, kind: string): string[] {
  const owner = ownerOf(configuration, Object.keys(changes) as IpamField[]);
  const observes = installation?.spec.managementPolicy === "Observe";
  return [
    ...(owner ? [`${owner} keeps ${kind} "${SINGLETON_NAME}", and may put back what is changed here`] : []),
    ...(observes ? [`Installation "${SINGLETON_NAME}" only observes: what differs from it is told in its status`] : []),
  ];
}

function intoInstallation({ datastore, stored: { installation }, changes, config }: Change): Written {
  if (installation === undefined)
    throw new Error(`there is no Installation "${SINGLETON_NAME}": leave out --installation`);
  const file = manifestOf(installation);
  if (file !== undefined) {
    throw new Error(`Installation "${SINGLETON_NAME}" is read from ${file}: change it in that file`);
  }
  const { managementPolicy, ipam = {} } = installation.spec;
  const item = itemOf(`Installation/${SINGLETON_NAME}`, ipam as Partial<IPAMConfig>, changes, config);
  const policy =
    managementPolicy === "Enforce" ? [] : [`managementPolicy is ${managementPolicy}: nothing will be applied`];
  if (isSame(ipam as Partial<IPAMConfig>, changes as Partial<IPAMConfig>, changes)) {
    return { steps: [], kept: [{ ...item, why: "is so already" }], notes: policy };
  }
  const spec = { ...installation.spec, ipam: { ...ipam, ...changes } } as Installation["spec"];
  const run = () => unlessChanged(datastore.update({ ...installation, kind: "Installation", spec }), item.object);
  const afterwards = `the operator applies it: kubectl wait --for=condition=Ready ipaminst/${SINGLETON_NAME}`;
  return { steps: [{ ...item, run }], kept: [], notes: policy, ...(policy.length === 0 && { afterwards }) };
}

function itemOf(object: string, before: Partial<IPAMConfig>, changes: ConfigChanges, effective: IPAMConfig): Item {
  const fields = Object.entries(changes) as [IpamField, unknown][];
  const why = fields.map(([field, to]) => `${field}: ${before[field] ?? "unset"} -> ${to}`).join(", ");
  return { action: "set", object, why, facts: { changes, effective } };
}

function isSame(before: Partial<IPAMConfig>, after: Partial<IPAMConfig>, changes: ConfigChanges): boolean {
  return (Object.keys(changes) as IpamField[]).every((field) => before[field] === after[field]);
}

/** The plan was made from what was stored then: what it would do now is for the user to see first. */
async function unlessChanged(write: Promise<unknown>, object: string): Promise<undefined> {
  try {
    await write;
  } catch (error) {
    if (!isDatastoreError(error, "Conflict", "NotFound", "AlreadyExists")) throw error;
    throw new Error(`${object} was changed meanwhile, and nothing was done: run it again`);
  }
}

const configText = (config: IPAMConfig) =>
  Object.entries(config)
    .map(([field, value]) => `${field}: ${value}`)
    .join(", ");
