/** Reads and writes the one IPAM configuration, `IPAMConfiguration` `default`. */

import { type ConfigViolation, configViolations, effectiveConfig, type IPAMConfig } from "../api/config-rules.ts";
import { IPAM_FIELDS, SINGLETON_NAME } from "../api/installation.ts";
import { objectIn } from "../api/kind-names.ts";
import { type IPAMConfiguration, type IPAMConfigurationSpec, V3_API_VERSION } from "../api/v3.ts";
import { type CallOptions, type Datastore, isDatastoreError } from "../datastore/datastore.ts";
import { IpamError } from "./errors.ts";
import { retryLostRaces } from "./retry.ts";

export * from "../api/config-rules.ts";

export interface ConfigOptions extends CallOptions {
  /** The calling host is a Windows node, where strictAffinity must be true. */
  readonly windowsHost?: boolean | undefined;
}

export interface SetConfigOptions extends ConfigOptions {
  /**
   * The stored configuration (or its absence) that the change was decided on. The change is then written onto exactly
   * that, and a lost race is the caller's to decide anew (DatastoreError Conflict, AlreadyExists or NotFound).
   */
  readonly onto?: { readonly object: IPAMConfiguration | undefined } | undefined;
}

/** Fields to change; an absent one stays as stored. What they mean is said at {@link IPAMConfig}. */
export interface ConfigChanges {
  /** Whether none are borrowed. */
  readonly strictAffinity?: boolean | undefined;
  /** Whether hosts claim new blocks. */
  readonly autoAllocateBlocks?: boolean | undefined;
  /** 0 to {@link MAX_BLOCKS_PER_HOST_LIMIT}. */
  readonly maxBlocksPerHost?: number | undefined;
  /** Seconds, 0 to {@link IP_COOLDOWN_SECONDS_LIMIT}. */
  readonly ipCooldownSeconds?: number | undefined;
  /** `null` removes the stored value, which then has its default. */
  readonly kubeVirtVMAddressPersistence?: IPAMConfig["kubeVirtVMAddressPersistence"] | null | undefined;
}

/** What a change of the configuration came to. */
export interface SetConfigResult {
  /** In force now. */
  readonly config: IPAMConfig;
  /** False where the stored values were already these. */
  readonly written: boolean;
  /** As stored now; undefined where there was nothing to change and nothing is stored. */
  readonly object: IPAMConfiguration | undefined;
}

/**
 * The configuration in force. Never writes: where nothing is stored, the defaults hold.
 * Values out of range that a v1 cluster accepts are passed on as they are.
 * @throws IpamError IPAMConfigConflict, or StrictAffinity on a Windows host, where the stored one breaks a rule
 */
export async function getIPAMConfig(datastore: Datastore, options: ConfigOptions = {}): Promise<IPAMConfig> {
  const config = effectiveConfig((await stored(datastore, options))?.spec);
  refuse(
    `${configurationIn(datastore)} cannot be used`,
    configViolations(config, options).filter(({ scope }) => scope !== "value"),
  );
  return config;
}

/**
 * Changes the named fields and nothing else. The rules are asked of the result, so that a stored configuration which
 * breaks one can be repaired; a stored value out of range that is not being changed is left alone.
 * @throws IpamError IPAMConfigConflict naming every broken rule, StrictAffinity on a Windows host, InvalidArgument for a
 * field that does not exist, MaxRetries
 */
export async function setIPAMConfig(
  datastore: Datastore,
  changes: ConfigChanges,
  options: SetConfigOptions = {},
): Promise<SetConfigResult> {
  const { onto } = options;
  if (onto) return writeOnto(onto.object, datastore, named(changes), options);
  return retryLostRaces(() => setOnce(datastore, named(changes), options), {
    what: `writing ${configurationIn(datastore)}`,
    signal: options.signal,
    // A create that found the row, and an update that found it gone, lost a race as well.
    lost: ["Conflict", "AlreadyExists", "NotFound"],
  });
}

async function setOnce(datastore: Datastore, changes: ConfigChanges, options: ConfigOptions): Promise<SetConfigResult> {
  return writeOnto(await stored(datastore, options), datastore, changes, options);
}

async function writeOnto(
  object: IPAMConfiguration | undefined,
  datastore: Datastore,
  changes: ConfigChanges,
  { signal, windowsHost }: ConfigOptions,
): Promise<SetConfigResult> {
  const options = signal ? { signal } : {};
  const spec = changedSpec(object?.spec, changes);
  const config = effectiveConfig(spec);
  const broken = configViolations(config, { windowsHost });
  refuse(
    `${configurationIn(datastore)} is refused`,
    broken.filter(({ scope, fields }) => scope !== "value" || fields.some((f) => f in changes)),
  );
  if (Object.keys(changes).length === 0 || (object && sameValues(object.spec, spec))) {
    return { config, written: false, object };
  }
  const written = await (object
    ? datastore.update({ ...object, spec }, options)
    : datastore.create(configuration(spec), options));
  return { config: effectiveConfig(written.spec), written: true, object: written };
}

async function stored(datastore: Datastore, { signal, fresh }: CallOptions): Promise<IPAMConfiguration | undefined> {
  const options = { ...(signal && { signal }), ...(fresh && { fresh }) };
  try {
    return await datastore.get("IPAMConfiguration", SINGLETON_NAME, options);
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** How a sentence names the configuration: its kind has another name in each API group. */
export const configurationIn = ({ description }: Pick<Datastore, "description">): string =>
  objectIn(description, "IPAMConfiguration", SINGLETON_NAME);

const configuration = (spec: IPAMConfigurationSpec): IPAMConfiguration => ({
  apiVersion: V3_API_VERSION,
  kind: "IPAMConfiguration",
  metadata: { name: SINGLETON_NAME },
  spec,
});

/** An explicit `undefined` means the same as leaving the field out. A field that does not exist is a misspelt one. */
function named(changes: ConfigChanges): ConfigChanges {
  const unknown = Object.keys(changes).filter((field) => !(IPAM_FIELDS as readonly string[]).includes(field));
  if (unknown.length > 0) {
    const message = `the IPAM configuration has no field ${unknown.join(", ")}; its fields are ${IPAM_FIELDS.join(", ")}`;
    throw new IpamError("InvalidArgument", message);
  }
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** Both booleans are always written: the v1 schema requires them. A 0 is left out, as Calico leaves it out. */
function changedSpec(spec: IPAMConfigurationSpec | undefined, changes: ConfigChanges): IPAMConfigurationSpec {
  const { strictAffinity, autoAllocateBlocks } = effectiveConfig(spec);
  const next: Record<string, unknown> = { strictAffinity, autoAllocateBlocks, ...spec };
  for (const [field, value] of Object.entries(changes)) {
    if (value === null || value === 0) delete next[field];
    else next[field] = value;
  }
  return next as IPAMConfigurationSpec;
}

/** A default that is stored and one that is not are the same value, except for the persistence, which can be unset. */
function sameValues(before: IPAMConfigurationSpec, after: IPAMConfigurationSpec): boolean {
  const values = (spec: IPAMConfigurationSpec) =>
    Object.values({ ...effectiveConfig(spec), set: spec.kubeVirtVMAddressPersistence }).join();
  return values(before) === values(after);
}

function refuse(subject: string, violations: readonly ConfigViolation[]): void {
  if (violations.length === 0) return;
  const details = violations.map(({ message }) => message);
  if (violations.every(({ scope }) => scope === "host")) {
    throw new IpamError("StrictAffinity", `${details.join("; ")}: ${subject}`, { details }); // Calico's text comes first
  }
  throw new IpamError("IPAMConfigConflict", `${subject}: ${details.join("; ")}`, { details });
}
