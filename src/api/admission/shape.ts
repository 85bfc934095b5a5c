/** Whether a value has the shape that a CRD's schema asks for: types, required fields, limits, lists that are sets. */
import { type Fields, isFields } from "../fields.ts";
import { isFormat, typeNames, typeOf } from "./formats.ts";
import { isUnchanged, type Node, within } from "./node.ts";
import { blockingAt, fieldName, type Problem, problemAt, shown } from "./problem.ts";

/** Every fault of shape, but those of values that are stored and stay as they are. */
export function shapeProblems(node: Node): Problem[] {
  const found = [...ownProblems(node), ...within(node).flatMap(shapeProblems)];
  return found.length > 0 && isUnchanged(node) ? [] : found;
}

/** Entries that a set, or a map by its keys, has twice. */
export function doubleEntries(node: Node): Problem[] {
  const own = isUniqueList(node) ? secondEntries(node, node.value as readonly unknown[]) : [];
  return [...own, ...within(node).flatMap(doubleEntries)];
}

function isUniqueList({ schema, value }: Node): boolean {
  return Array.isArray(value) && ["set", "map"].includes(schema["x-kubernetes-list-type"] ?? "");
}

function secondEntries({ schema, path }: Node, list: readonly unknown[]): Problem[] {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const keyOf = (entry: unknown) => (isFields(entry) ? JSON.stringify(keys.map((key) => entry[key])) : shown(entry));
  const seen = new Map<string, number>();
  return list.flatMap((entry, at) => {
    const times = (seen.get(keyOf(entry)) ?? 0) + 1;
    seen.set(keyOf(entry), times);
    return times === 2 ? [problemAt([...path, at], `Duplicate value: ${keyOf(entry)}`)] : [];
  });
}

function ownProblems(node: Node): Problem[] {
  const { value } = node;
  const ofAny = [...typeProblems(node), ...enumProblems(node)];
  if (typeof value === "string") return [...ofAny, ...textProblems(node, value)];
  if (typeof value === "bigint" || Number.isFinite(value))
    return [...ofAny, ...numberProblems(node, value as number | bigint)];
  if (Array.isArray(value)) return [...ofAny, ...lengthProblems(node, value.length)];
  return isFields(value) ? [...ofAny, ...missing(node, value)] : ofAny;
}

function typeProblems({ schema, value, path }: Node): Problem[] {
  const { type, format, nullable } = schema;
  if (type === undefined || (value === null && nullable === true)) return [];
  const isRight = typeOf(value) === type || (type === "number" && typeOf(value) === "integer");
  if (isRight && (typeof value !== "string" || format === undefined || isFormat(format, value))) return [];
  const { wanted, found } = typeNames(schema, value);
  const fault = `${fieldName(path)} in body must be of type ${wanted}: "${found}"`;
  return [blockingAt(path, `Invalid value: ${shown(found)}: ${fault}`)];
}

function enumProblems({ schema, value, path }: Node): Problem[] {
  if (schema.enum === undefined || schema.enum.includes(value)) return [];
  const supported = schema.enum.map(shown).join(", ");
  return [blockingAt(path, `Unsupported value: ${shown(value)}: supported values: ${supported}`)];
}

function textProblems({ schema: { maxLength, pattern }, path }: Node, text: string): Problem[] {
  const isLong = maxLength !== undefined && [...text].length > maxLength;
  const isOther = pattern !== undefined && !new RegExp(pattern).test(text);
  return [
    ...(isLong ? [blockingAt(path, `Too long: may not be more than ${maxLength} bytes`)] : []),
    ...(isOther ? [limit(path, text, `match '${pattern}'`)] : []),
  ];
}

function numberProblems({ schema: { minimum, maximum }, path }: Node, value: number | bigint): Problem[] {
  return [
    ...(minimum !== undefined && value < minimum ? [limit(path, value, `be greater than or equal to ${minimum}`)] : []),
    ...(maximum !== undefined && value > maximum ? [limit(path, value, `be less than or equal to ${maximum}`)] : []),
  ];
}

function limit(path: Problem["path"], value: unknown, wanted: string): Problem {
  return problemAt(path, `Invalid value: ${shown(value)}: ${fieldName(path)} in body should ${wanted}`);
}

function lengthProblems({ schema: { maxItems }, path }: Node, length: number): Problem[] {
  if (maxItems === undefined || length <= maxItems) return [];
  return [blockingAt(path, `Too many: ${length}: must have at most ${maxItems} items`)];
}

/** An API server fills in defaults before it looks. */
function missing({ schema: { required = [], properties }, path }: Node, value: Fields): Problem[] {
  const absent = required.filter((name) => !Object.hasOwn(value, name) && properties?.[name]?.default === undefined);
  return absent.map((name) => blockingAt([...path, name], "Required value"));
}
