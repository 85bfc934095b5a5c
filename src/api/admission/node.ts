/** One place in an object that is judged: its value, its schema, and what is stored there now. */
import { isDeepStrictEqual } from "node:util";
import type { CrdSchema } from "../crd-schema.ts";
import { type Fields, isFields } from "../fields.ts";

export interface Node {
  readonly schema: CrdSchema;
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
  /** Absent: nothing is stored there, or it cannot be told what belongs together, as in a plain list. */
  readonly stored?: { readonly value: unknown };
}

/** What is stored and stays as it is need not keep today's rules. */
export function isUnchanged({ value, stored }: Node): boolean {
  return stored !== undefined && isDeepStrictEqual(value, stored.value);
}

/** The values within a value, with their schemas; of an object only the fields that are there. */
export function within(node: Node): Node[] {
  const { schema, value } = node;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((entry, at) => child(node, at, items, entry, correlated(node, entry))) : [];
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const inner = schema.properties ? own(schema.properties, name) : schema.additionalProperties;
    return inner ? [child(node, name, inner, field, own(storedFields(node), name))] : [];
  });
}

function child({ path }: Node, key: PropertyKey, schema: CrdSchema, value: unknown, stored: unknown): Node {
  return { schema, value, path: [...path, key], ...(stored !== undefined && { stored: { value: stored } }) };
}

const storedFields = ({ stored }: Node): Fields => (isFields(stored?.value) ? stored.value : {});

const own = <T>(fields: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** Entries of a list belong together by the keys that its schema names. */
function correlated({ schema, stored }: Node, entry: unknown): unknown {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (keys === undefined || !Array.isArray(stored?.value) || !isFields(entry)) return undefined;
  return stored.value.find((other) => isFields(other) && keys.every((key) => other[key] === entry[key]));
}
