/**
 * The one table of configurations and the rules each breaks. It runs through every door: setIPAMConfig, getIPAMConfig,
 * the Installation's CRD, and the admission policy for direct writes.
 */
import { CONFIG_RULES, type ConfigRule, type ConfigRuleName, ruleWords } from "../../src/api/config-rules.ts";

export interface ConfigCase {
  readonly name: string;
  /** As a user writes it; absent fields count as their defaults. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly breaks: readonly ConfigRuleName[];
  /** Of these, what one Installation alone cannot show: there the stored value may make up for it. */
  readonly hiddenFromInstallation?: readonly ConfigRuleName[];
  /** Calico's v1 schema lets it pass. */
  readonly withinV1Schema?: true;
}

export const CONFIG_CASES: readonly ConfigCase[] = [
  { name: "nothing said", spec: {}, breaks: [] },
  { name: "both switches on", spec: { strictAffinity: true, autoAllocateBlocks: true }, breaks: [] },
  { name: "own blocks only", spec: { strictAffinity: true, autoAllocateBlocks: false }, breaks: [] },
  {
    name: "CFG-03 a cap, autoAllocateBlocks left out",
    spec: { strictAffinity: true, maxBlocksPerHost: 4 },
    breaks: [],
  },
  { name: "the default cap without strict affinity", spec: { maxBlocksPerHost: 0 }, breaks: [] },
  {
    name: "every upper bound",
    spec: {
      strictAffinity: true,
      maxBlocksPerHost: 1_000_000,
      ipCooldownSeconds: 1200,
      kubeVirtVMAddressPersistence: "Disabled",
    },
    breaks: [],
  },
  {
    name: "CFG-04 a cap without strict affinity",
    spec: { strictAffinity: false, maxBlocksPerHost: 4 },
    breaks: ["CapNeedsStrictAffinity"],
  },
  { name: "a cap and nothing else", spec: { maxBlocksPerHost: 4 }, breaks: ["CapNeedsStrictAffinity"] },
  {
    name: "CFG-04 both off",
    spec: { strictAffinity: false, autoAllocateBlocks: false },
    breaks: ["AllocatesSomewhere"],
  },
  {
    name: "autoAllocateBlocks off and nothing else",
    spec: { autoAllocateBlocks: false },
    breaks: ["AllocatesSomewhere"],
    hiddenFromInstallation: ["AllocatesSomewhere"],
  },
  {
    name: "both off and a cap",
    spec: { strictAffinity: false, autoAllocateBlocks: false, maxBlocksPerHost: 5 },
    breaks: ["AllocatesSomewhere", "CapNeedsStrictAffinity"],
  },
  {
    name: "a cap beyond the bound",
    spec: { strictAffinity: true, maxBlocksPerHost: 1_000_001 },
    breaks: ["MaxBlocksPerHostRange"],
    withinV1Schema: true,
  },
  { name: "a negative cap", spec: { strictAffinity: true, maxBlocksPerHost: -1 }, breaks: ["MaxBlocksPerHostRange"] },
  { name: "half a block", spec: { strictAffinity: true, maxBlocksPerHost: 1.5 }, breaks: ["MaxBlocksPerHostRange"] },
  { name: "a negative cooldown", spec: { ipCooldownSeconds: -1 }, breaks: ["IPCooldownSecondsRange"] },
  { name: "a cooldown beyond the bound", spec: { ipCooldownSeconds: 1201 }, breaks: ["IPCooldownSecondsRange"] },
  {
    name: "persistence in lower case",
    spec: { kubeVirtVMAddressPersistence: "enabled" },
    breaks: ["VMAddressPersistenceValue"],
  },
  {
    name: "everything wrong",
    spec: {
      strictAffinity: false,
      autoAllocateBlocks: false,
      maxBlocksPerHost: -1,
      ipCooldownSeconds: -1,
      kubeVirtVMAddressPersistence: "Bogus",
    },
    breaks: ["AllocatesSomewhere", "MaxBlocksPerHostRange", "IPCooldownSecondsRange", "VMAddressPersistenceValue"],
  },
];

export const ruleOf = (name: ConfigRuleName): ConfigRule => CONFIG_RULES.find((rule) => rule.name === name)!;
export const wordsOf = (name: ConfigRuleName): string => ruleWords(ruleOf(name));
/** Rules between fields: what the CRDs of the IPAM kinds leave open. */
export const isCombination = (name: ConfigRuleName): boolean => ruleOf(name).scope === "combination";
