/** The rules (`x-kubernetes-validations`) that an object breaks, transition rules included. */
import type { CrdSchema } from "../crd-schema.ts";
import { isFields } from "../fields.ts";
import type { CelRule } from "../ippool-rules.ts";
import { holds } from "./cel.ts";
import { isUnchanged, type Node, within } from "./node.ts";
import { type Problem, problemAt, shown } from "./problem.ts";

/** What is stored and stays as it is, is not asked again; a rule on the old value is asked where there is one. */
export function brokenRules(node: Node): Problem[] {
  if (isUnchanged(node)) return [];
  const rules = node.schema["x-kubernetes-validations"] ?? [];
  const own = rules.filter((rule) => applies(rule, node)).flatMap((rule) => judged(rule, node));
  return [
    ...own,
    ...within(node)
      .filter(({ schema }) => hasRules(schema))
      .flatMap(brokenRules),
  ];
}

function hasRules(schema: CrdSchema): boolean {
  const { properties = {}, items, additionalProperties } = schema;
  const inner = [...Object.values(properties), items, additionalProperties];
  return schema["x-kubernetes-validations"] !== undefined || inner.some((one) => one !== undefined && hasRules(one));
}

const applies = ({ rule }: CelRule, { stored }: Node) => stored !== undefined || !/\boldSelf\b/.test(rule);

function judged({ rule, message, fieldPath, reason }: CelRule, { value, stored, path }: Node): Problem[] {
  const at = fieldPath === undefined ? path : [...path, ...fieldPath.slice(1).split(".")];
  try {
    if (holds(rule, value, stored?.value)) return [];
  } catch (error) {
    return [problemAt(at, `Invalid value: ${(error as Error).message} evaluating rule: ${message}`)];
  }
  if (reason === "FieldValueForbidden") return [problemAt(at, `Forbidden: ${message}`)];
  const found = isFields(value) || Array.isArray(value) ? "" : `${shown(value)}: `;
  return [problemAt(at, `Invalid value: ${found}${message}`)];
}
