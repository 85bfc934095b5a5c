/** What a stored RBAC object has otherwise than wanted, in words. Two that grant the same do not differ, whatever their order. */
import { AGGREGATE_PREFIX, type ClusterRole, type ClusterRoleBinding, type Subject } from "../../rbac/objects.ts";
import type { PolicyRule } from "../../rbac/rules.ts";

export type RbacObject = ClusterRole | ClusterRoleBinding;

const isBinding = (object: RbacObject): object is ClusterRoleBinding => object.kind === "ClusterRoleBinding";

/** Differences that an update mends. */
export function differences(found: RbacObject, wanted: RbacObject): readonly string[] {
  const what = isBinding(wanted) ? "subjects" : "permissions";
  return [...labelDifferences(found, wanted), ...setDifference(what, contentTexts(found), contentTexts(wanted))];
}

/**
 * Differences that only deleting and creating again mends: a binding's roleRef is immutable, and taking an
 * aggregation rule off a role is for those who hold every permission there is.
 */
export function immutableDifferences(found: RbacObject, wanted: RbacObject): readonly string[] {
  if (!isBinding(found)) return found.aggregationRule ? ["had an aggregation rule"] : [];
  const [has, wants] = [roleRefText(found), roleRefText(wanted as ClusterRoleBinding)];
  return has === wants ? [] : [`bound ${has} instead of ${wants}`];
}

/** The label `aggregate-to-…` of a role that must not aggregate there. */
export const foreignAggregation = (found: RbacObject, wanted: RbacObject): readonly string[] =>
  Object.keys(found.metadata.labels ?? {}).filter(
    (label) => label.startsWith(AGGREGATE_PREFIX) && wanted.metadata.labels?.[label] === undefined,
  );

function labelDifferences(found: RbacObject, wanted: RbacObject): readonly string[] {
  const has = found.metadata.labels ?? {};
  const changed = Object.entries(wanted.metadata.labels ?? {}).filter(([label, value]) => has[label] !== value);
  return [
    ...changed.map(([label]) => `label ${label} was ${has[label] === undefined ? "missing" : `"${has[label]}"`}`),
    ...foreignAggregation(found, wanted).map((label) => `had label ${label}`),
  ];
}

const roleRefText = ({ roleRef: { kind, name } }: ClusterRoleBinding): string => `${kind} ${name}`;

const contentTexts = (object: RbacObject): ReadonlySet<string> =>
  isBinding(object) ? subjectTexts(object.subjects) : ruleTexts(object.rules);

/** Each permission by itself, so that differently cut rules compare equal. */
function ruleTexts(rules: ClusterRole["rules"]): ReadonlySet<string> {
  return new Set(
    (rules ?? []).flatMap((rule) => rule.verbs.flatMap((verb) => targetTexts(rule).map((on) => `${verb} ${on}`))),
  );
}

function targetTexts(rule: PolicyRule & { readonly nonResourceURLs?: readonly string[] }): readonly string[] {
  const names = rule.resourceNames?.length ? rule.resourceNames.map((name) => ` "${name}"`) : [""];
  const resources = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).map((resource) => (group ? `${resource}.${group}` : resource)),
  );
  return [...resources.flatMap((resource) => names.map((name) => resource + name)), ...(rule.nonResourceURLs ?? [])];
}

const subjectTexts = (subjects: readonly Subject[] | undefined): ReadonlySet<string> =>
  new Set((subjects ?? []).map(({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ""}${name}`));

function setDifference(what: string, has: ReadonlySet<string>, wants: ReadonlySet<string>): readonly string[] {
  const lacking = [...wants].filter((item) => !has.has(item));
  const extra = [...has].filter((item) => !wants.has(item));
  return [...differenceText(`lacked the ${what}`, lacking), ...differenceText(`also had the ${what}`, extra)];
}

/** Three are enough to see what it is about; an event holds 1 kB. */
function differenceText(how: string, items: readonly string[]): readonly string[] {
  const rest = items.length > 3 ? ` and ${items.length - 3} more` : "";
  return items.length === 0 ? [] : [`${how} ${items.slice(0, 3).join(", ")}${rest}`];
}
