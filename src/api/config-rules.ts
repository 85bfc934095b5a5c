/**
 * The rules of the IPAM configuration, once. `set` refuses and `get` rejects by this table; the CRD's CEL rules and the
 * admission policy are generated with its words.
 */
import { DEFAULT_MAX_BLOCKS_PER_HOST, IP_COOLDOWN_SECONDS_LIMIT, MAX_BLOCKS_PER_HOST_LIMIT } from "./config-limits.ts";
import type { IpamField } from "./installation.ts";
import type { IPAMConfigurationSpec, VMAddressPersistence } from "./v3.ts";

export * from "./config-limits.ts";

/** The configuration in force: every field has a value. */
export interface IPAMConfig {
  /** True: addresses come only from the host's own blocks, none are borrowed. Default false. */
  readonly strictAffinity: boolean;
  /** False: hosts claim no new blocks. Default true. */
  readonly autoAllocateBlocks: boolean;
  /** Most blocks one host may own. Default 0, which stands for {@link DEFAULT_MAX_BLOCKS_PER_HOST}. */
  readonly maxBlocksPerHost: number;
  /** Whether a KubeVirt VM keeps its address; whoever allocates for VMs honours it. Default Enabled. */
  readonly kubeVirtVMAddressPersistence: VMAddressPersistence;
  /** Seconds a released address rests before it is free. Default 0: it is free at once. */
  readonly ipCooldownSeconds: number;
}

/** What holds where nothing is stored. */
export const DEFAULT_CONFIG: IPAMConfig = Object.freeze({
  strictAffinity: false,
  autoAllocateBlocks: true,
  maxBlocksPerHost: 0,
  kubeVirtVMAddressPersistence: "Enabled",
  ipCooldownSeconds: 0,
});

/** The stored spec with the defaults filled in. */
export function effectiveConfig(spec: IPAMConfigurationSpec | undefined): IPAMConfig {
  return {
    strictAffinity: spec?.strictAffinity ?? DEFAULT_CONFIG.strictAffinity,
    autoAllocateBlocks: spec?.autoAllocateBlocks ?? DEFAULT_CONFIG.autoAllocateBlocks,
    maxBlocksPerHost: spec?.maxBlocksPerHost ?? DEFAULT_CONFIG.maxBlocksPerHost,
    kubeVirtVMAddressPersistence: spec?.kubeVirtVMAddressPersistence ?? DEFAULT_CONFIG.kubeVirtVMAddressPersistence,
    ipCooldownSeconds: spec?.ipCooldownSeconds ?? DEFAULT_CONFIG.ipCooldownSeconds,
  };
}

/** The name of a rule. */
export type ConfigRuleName =
  | "AllocatesSomewhere"
  | "CapNeedsStrictAffinity"
  | "MaxBlocksPerHostRange"
  | "IPCooldownSecondsRange"
  | "VMAddressPersistenceValue"
  | "WindowsNeedsStrictAffinity";

/** One rule of the configuration. */
export interface ConfigRule {
  /** Its name. */
  readonly name: ConfigRuleName;
  /** The fields it is about. */
  readonly fields: readonly IpamField[];
  /** What is wrong; where Calico has a text for it, that text, to the letter. */
  readonly text: string;
  /** What to change. */
  readonly fix: string;
  /** `combination`: about the whole configuration; `value`: about one field; `host`: only where the caller is Windows. */
  readonly scope: "combination" | "value" | "host";
  /** Whether a configuration keeps it. */
  readonly holds: (config: IPAMConfig) => boolean;
}

const integerWithin = (value: unknown, limit: number) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limit;

export const CONFIG_RULES: readonly ConfigRule[] = [
  {
    name: "AllocatesSomewhere",
    fields: ["strictAffinity", "autoAllocateBlocks"],
    text: "Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks' at the same time",
    fix: "set strictAffinity: true or autoAllocateBlocks: true",
    scope: "combination",
    holds: (config) => config.strictAffinity || config.autoAllocateBlocks,
  },
  {
    name: "CapNeedsStrictAffinity",
    fields: ["maxBlocksPerHost", "strictAffinity"],
    text: "MaxBlocksPerHost requires StrictAffinity to be enabled",
    fix: "set strictAffinity: true or maxBlocksPerHost: 0",
    scope: "combination",
    holds: (config) => !(config.maxBlocksPerHost > 0) || config.strictAffinity,
  },
  {
    name: "MaxBlocksPerHostRange",
    fields: ["maxBlocksPerHost"],
    text: `maxBlocksPerHost must be a whole number from 0 to ${MAX_BLOCKS_PER_HOST_LIMIT}`,
    fix: `set maxBlocksPerHost: 0 for the default of ${DEFAULT_MAX_BLOCKS_PER_HOST}, or a value within the range`,
    scope: "value",
    holds: (config) => integerWithin(config.maxBlocksPerHost, MAX_BLOCKS_PER_HOST_LIMIT),
  },
  {
    name: "IPCooldownSecondsRange",
    fields: ["ipCooldownSeconds"],
    text: `ipCooldownSeconds must be a whole number from 0 to ${IP_COOLDOWN_SECONDS_LIMIT}`,
    fix: "set ipCooldownSeconds to a value within the range",
    scope: "value",
    holds: (config) => integerWithin(config.ipCooldownSeconds, IP_COOLDOWN_SECONDS_LIMIT),
  },
  {
    name: "VMAddressPersistenceValue",
    fields: ["kubeVirtVMAddressPersistence"],
    text: "kubeVirtVMAddressPersistence must be Enabled or Disabled",
    fix: "set kubeVirtVMAddressPersistence: Enabled or kubeVirtVMAddressPersistence: Disabled",
    scope: "value",
    holds: (config) => ["Enabled", "Disabled"].includes(config.kubeVirtVMAddressPersistence),
  },
  {
    name: "WindowsNeedsStrictAffinity",
    fields: ["strictAffinity"],
    text: "global strict affinity should not be false for Windows node",
    fix: "set strictAffinity: true",
    scope: "host",
    holds: (config) => config.strictAffinity,
  },
];

/** The rule's words, the same at every door: what is wrong and what to change. */
export const ruleWords = (rule: ConfigRule): string => `${rule.text}; ${rule.fix}`;

/** A rule that a configuration breaks. */
export interface ConfigViolation {
  /** Its name. */
  readonly rule: ConfigRuleName;
  /** Of one field, of their combination, or of the calling host. */
  readonly scope: ConfigRule["scope"];
  /** The fields it is about. */
  readonly fields: readonly IpamField[];
  /** The values at fault: `strictAffinity: false, maxBlocksPerHost: 4`. */
  readonly value: string;
  /** A whole sentence: rule, fields with values, what to change. */
  readonly message: string;
  /** What to change. */
  readonly fix: string;
}

/** Every rule that `config` breaks, in the table's order. */
export function configViolations(
  config: IPAMConfig,
  { windowsHost = false }: { readonly windowsHost?: boolean | undefined } = {},
): ConfigViolation[] {
  return CONFIG_RULES.filter((rule) => windowsHost || rule.scope !== "host")
    .filter((rule) => !rule.holds(config))
    .map((rule) => violation(rule, config));
}

function violation(rule: ConfigRule, config: IPAMConfig): ConfigViolation {
  const { name, scope, fields, fix } = rule;
  const value = fields.map((field) => `${field}: ${shown(field, config)}`).join(", ");
  return { rule: name, scope, fields, value, message: `${ruleWords(rule)} (found ${value})`, fix };
}

/** A number that came as text is at fault because it is text: the quotes show it. */
function shown(field: IpamField, config: IPAMConfig): string {
  const value: unknown = config[field];
  return typeof value === "string" && field !== "kubeVirtVMAddressPersistence" ? JSON.stringify(value) : String(value);
}
