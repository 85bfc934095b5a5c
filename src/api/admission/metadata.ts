/** Metadata that an API server refuses, whatever the kind. */
import { isFields } from "../fields.ts";
import type { ObjectMeta } from "../meta.ts";
import { isObjectName, LONGEST_OBJECT_NAME } from "../names.ts";
import { blockingAt, type Problem, problemAt, shown } from "./problem.ts";

const WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const LONGEST_WORD = 63;
const LARGEST_ANNOTATIONS = 262_144;

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const WORD_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** A problem with one key of a map, which its words name and its path does not. */
export interface KeyProblem extends Problem {
  readonly key?: string;
}

/** What JSON itself does not let into Kubernetes' metadata. */
export function mistypedMetadata(metadata: unknown): Problem[] {
  if (!isFields(metadata)) return [blockingAt(["metadata"], "Required value")];
  const maps = ["labels", "annotations"].flatMap((field) => mistypedMap(field, metadata[field]));
  return typeof metadata["name"] === "string"
    ? maps
    : [...mistyped(["metadata", "name"], "name", metadata["name"]), ...maps];
}

/** Names, keys and values that are none. */
export function metadataProblems({ name, labels = {}, annotations = {} }: ObjectMeta): KeyProblem[] {
  const size = Object.entries(annotations).reduce((sum, pair) => sum + Buffer.byteLength(pair.join("")), 0);
  const isLarge = size > LARGEST_ANNOTATIONS;
  return [
    ...faultsOfSubdomain(name).map((fault) =>
      problemAt(["metadata", "name"], `Invalid value: ${shown(name)}: ${fault}`),
    ),
    ...Object.keys(labels).flatMap((key) => keyProblems("labels", key, key)),
    ...Object.entries(labels).flatMap(([key, value]) =>
      faultsOfValue(value).map((fault) => problem("labels", key, value, fault)),
    ),
    // Annotations are compared in lower case, and then a domain may be written in either.
    ...Object.keys(annotations).flatMap((key) => keyProblems("annotations", key, key.toLowerCase())),
    ...(isLarge
      ? [blockingAt(["metadata", "annotations"], `Too long: may not be more than ${LARGEST_ANNOTATIONS} bytes`)]
      : []),
  ];
}

function problem(field: string, key: string, value: string, fault: string): KeyProblem {
  return { ...problemAt(["metadata", field], `Invalid value: ${shown(value)}: ${fault}`), key };
}

function keyProblems(field: string, key: string, compared: string): KeyProblem[] {
  return faultsOfKey(compared).map((fault) => problem(field, key, compared, fault));
}

function faultsOfKey(key: string): string[] {
  const parts = key.split("/");
  const word = parts.at(-1)!;
  if (parts.length > 2) {
    return [`a valid label key ${WORD_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const prefix = parts.length === 2 ? parts[0]! : undefined;
  return [
    ...(prefix === "" ? ["prefix part must be non-empty"] : []),
    ...(prefix ? faultsOfSubdomain(prefix).map((fault) => `prefix part ${fault}`) : []),
    ...(word === "" ? ["name part must be non-empty"] : []),
    ...(word.length > LONGEST_WORD ? [`name part must be no more than ${LONGEST_WORD} bytes`] : []),
    ...(WORD.test(word) ? [] : [`name part ${WORD_RULE}`]),
  ];
}

function faultsOfValue(value: string): string[] {
  return [
    ...(value.length > LONGEST_WORD ? [`must be no more than ${LONGEST_WORD} bytes`] : []),
    ...(value === "" || WORD.test(value) ? [] : [VALUE_RULE]),
  ];
}

function faultsOfSubdomain(text: string): string[] {
  return [
    ...(text.length > LONGEST_OBJECT_NAME ? [`must be no more than ${LONGEST_OBJECT_NAME} characters`] : []),
    ...(isObjectName(text, Number.POSITIVE_INFINITY) ? [] : [SUBDOMAIN_RULE]),
  ];
}

function mistypedMap(field: string, map: unknown): Problem[] {
  if (map === undefined || map === null) return [];
  if (!isFields(map)) return mistyped(["metadata", field], field, map, "map[string]string");
  return Object.entries(map).flatMap(([key, value]) =>
    typeof value === "string" ? [] : mistyped(["metadata", field, key], field, value),
  );
}

function mistyped(path: Problem["path"], field: string, value: unknown, wanted = "string"): Problem[] {
  if (value === undefined || value === null)
    return [blockingAt(path, "Required value: name or generateName is required")];
  const found = Array.isArray(value)
    ? "array"
    : ({ bigint: "number", boolean: "bool" }[typeof value as string] ?? typeof value);
  return [
    { path, words: `json: cannot unmarshal ${found} into Go struct field ObjectMeta.${field} of type ${wanted}` },
  ];
}
