/** Metadata of a manifest that an API server would not take: misspelt fields, names and keys and values that are none. */
import { type ObjectMeta, objectMeta } from "../api/meta.ts";
import { isObjectName } from "../api/names.ts";
import { type FieldProblem, unknownField } from "./manifest-words.ts";

/** What Kubernetes knows besides what the product reads. */
const UNREAD = ["generateName", "selfLink", "finalizers", "ownerReferences", "deletionGracePeriodSeconds"];
const KNOWN = [...Object.keys(objectMeta.shape), ...UNREAD];

const WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const WORD_RULE = "at most 63 letters, digits, -, _ and ., the first and the last a letter or digit";
const KEY_RULE = `${WORD_RULE}; before it, where wanted, a domain and /`;

/** Every field of `metadata` that an API server would refuse. */
export function metadataProblems({ name, labels = {}, annotations = {}, ...rest }: ObjectMeta): FieldProblem[] {
  const strange = Object.keys(rest).filter((field) => !KNOWN.includes(field));
  return [
    ...strange.map((field) => unknownField(["metadata", field], KNOWN)),
    ...(isObjectName(name) ? [] : [nameProblem(name)]),
    ...keyProblems("labels", labels),
    ...valueProblems(labels),
    ...keyProblems("annotations", annotations),
  ];
}

function nameProblem(name: string): FieldProblem {
  const rule = "at most 253 lowercase letters, digits, - and ., the first and the last a letter or digit";
  return { path: ["metadata", "name"], message: `metadata.name: found "${name}"; write ${rule}` };
}

function keyProblems(field: "labels" | "annotations", map: Readonly<Record<string, string>>): FieldProblem[] {
  // Annotations are compared in lower case, and then a domain may be written in either.
  const wrong = Object.keys(map).filter((key) => !isKey(field === "annotations" ? key.toLowerCase() : key));
  return wrong.map((key) => ({
    path: ["metadata", field, key],
    message: `metadata.${field}: the key "${key}" cannot be used; write ${KEY_RULE}`,
  }));
}

function isKey(key: string): boolean {
  const [word = "", domain, ...more] = key.split("/").reverse();
  return more.length === 0 && WORD.test(word) && (domain === undefined || isObjectName(domain));
}

function valueProblems(labels: Readonly<Record<string, string>>): FieldProblem[] {
  const wrong = Object.entries(labels).filter(([, value]) => value !== "" && !WORD.test(value));
  return wrong.map(([key, value]) => ({
    path: ["metadata", "labels", key],
    message: `metadata.labels.${key}: found ${JSON.stringify(value)}; write ${WORD_RULE}`,
  }));
}
