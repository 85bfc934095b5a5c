/** The configuration rules that one Installation can show, as CEL for its CRD, in the words of the rules' table. */
import { CONFIG_RULES, type ConfigRuleName, ruleWords } from "./config-rules.ts";
import type { CelRule } from "./ippool-rules.ts";

/**
 * Where a field is absent its stored value counts, which one object cannot show; but a cap is only accepted beside the
 * strictAffinity: true that it needs.
 */
const CEL: Partial<Record<ConfigRuleName, string>> = {
  AllocatesSomewhere:
    "!(has(self.strictAffinity) && !self.strictAffinity && has(self.autoAllocateBlocks) && !self.autoAllocateBlocks)",
  CapNeedsStrictAffinity:
    "!has(self.maxBlocksPerHost) || self.maxBlocksPerHost <= 0 || (has(self.strictAffinity) && self.strictAffinity)",
};

/** The rules that the Installation's CRD asks by CEL. */
export const installationRuleNames = Object.keys(CEL) as readonly ConfigRuleName[];

/** `x-kubernetes-validations` of `spec.ipam`. No messageExpression: printing a value is beyond a CRD's cost budget. */
export function installationRules(): CelRule[] {
  return CONFIG_RULES.flatMap((rule) => {
    const cel = CEL[rule.name];
    return cel ? [{ rule: cel, message: ruleWords(rule), fieldPath: `.${rule.fields[0]}` }] : [];
  });
}
