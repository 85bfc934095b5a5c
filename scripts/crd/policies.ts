/**
 * The admission policies, by file. The one for direct writes to the IPAM configuration, in both API groups, stands here.
 * Per rule it refuses only an object that breaks the rule while the stored one kept it: what is broken already can still
 * be changed.
 */
import { stringify } from "yaml";
import { CONFIG_RULES, type ConfigRule, DEFAULT_CONFIG, ruleWords } from "../../src/api/config-rules.ts";
import type { IpamField } from "../../src/api/installation.ts";
import { resources } from "../../src/api/resources.ts";
import { blockSizeDocuments } from "./block-size-policy.ts";
import { GENERATED } from "./crds.ts";

export const POLICY_NAME = "ipam-configuration.ipam-operator.io";

/** The rules between fields; those of one field stand in the CRDs. */
const policyRules = CONFIG_RULES.filter(({ scope }) => scope === "combination");
const fields = [...new Set(policyRules.flatMap((rule) => rule.fields))];

/** Manifests of every policy, refusing and only warning, by path. */
export function generatePolicies(): Map<string, string> {
  return new Map(
    (["Deny", "Warn"] as const).flatMap((action) => [
      [policyPath("ipam-configuration", action), fileOf(configurationDocuments(action))] as const,
      [policyPath("ipam-block-size", action), fileOf(blockSizeDocuments(action))] as const,
    ]),
  );
}

export const policyPath = (name: "ipam-configuration" | "ipam-block-size", action: "Deny" | "Warn"): string =>
  `crds/admission/${name}-${action.toLowerCase()}.yaml`;

const fileOf = (documents: readonly string[]) => GENERATED + documents.join("---\n");

const configurationDocuments = (action: "Deny" | "Warn") =>
  [policy(), binding(action)].map((object) => stringify(object, { lineWidth: 0 }));

const policy = () => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: POLICY_NAME },
  spec: {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: Object.values(resources.IPAMConfiguration).map(writesOf) },
    variables: [
      ...fields.flatMap(fieldVariables),
      ...policyRules.map((rule) => ({ name: `broken${rule.name}`, expression: newlyBroken(rule) })),
      { name: "broken", expression: policyRules.map(({ name }) => `variables.broken${name}`).join(" + ") },
    ],
    // One validation for all rules: the API server reports only the first that fails.
    validations: [
      {
        expression: "variables.broken.size() == 0",
        message: policyRules.map(ruleWords).join("; "),
        messageExpression: 'variables.broken.join("; ")',
      },
    ],
  },
});

const binding = (action: "Deny" | "Warn") => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: POLICY_NAME },
  spec: { policyName: POLICY_NAME, validationActions: [action] },
});

const writesOf = ({ group, version, plural }: { group: string; version: string; plural: string }) => ({
  apiGroups: [group],
  apiVersions: [version],
  operations: ["CREATE", "UPDATE"],
  resources: [plural],
});

/** The field's value, and the one it had (asked only of an update): absent fields count as their defaults. */
function fieldVariables(field: IpamField) {
  const valueIn = (object: string) => `${object}.?spec.?${field}.orValue(${DEFAULT_CONFIG[field]})`;
  return [
    { name: field, expression: valueIn("object") },
    { name: `${field}Before`, expression: valueIn("oldObject") },
  ];
}

/** A list of one message where the object breaks the rule and the stored one, if any, kept it; else an empty one. */
function newlyBroken(rule: ConfigRule): string {
  const keptBefore = `(oldObject == null || ${holds(rule, "Before")})`;
  return `!(${holds(rule, "")}) && ${keptBefore} ? [${messageWithValues(rule)}] : []`;
}

function holds({ name }: ConfigRule, when: "" | "Before"): string {
  const value = (field: IpamField) => `variables.${field}${when}`;
  if (name === "AllocatesSomewhere") return `${value("strictAffinity")} || ${value("autoAllocateBlocks")}`;
  return `${value("maxBlocksPerHost")} <= 0 || ${value("strictAffinity")}`;
}

/** As the library says it: the rule's words and the values found. */
function messageWithValues(rule: ConfigRule): string {
  const found = rule.fields.map((field) => `${field}: " + string(variables.${field}) + "`);
  return `"${ruleWords(rule)} (found ${found.join(", ")})"`;
}
