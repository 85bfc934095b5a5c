/** Plain work on parsed JSON whose shape is not known yet. Own keys only, so a key like `__proto__` is a key like any. */
import type { z } from "zod";

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A deep copy without undefined fields; `leaf` may replace what is neither list nor object. */
export function copy(value: unknown, leaf: (value: unknown) => unknown = (v) => v): unknown {
  if (Array.isArray(value)) return value.map((item) => copy(item, leaf));
  if (!isFields(value)) return leaf(value);
  return mapValues(value, (field) => copy(field, leaf));
}

/** Every value replaced; a field whose value becomes undefined is left out. */
export function mapValues(fields: Fields, to: (value: unknown, name: string) => unknown): Fields {
  const mapped: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const replaced = to(value, name);
    if (replaced !== undefined) mapped.push([name, replaced]);
  }
  return Object.fromEntries(mapped);
}

/** The named fields, where they are there, replaced by their function; all others as they are. */
export function mapFields(fields: Fields, by: Readonly<Record<string, (value: unknown) => unknown>>): Fields {
  return mapValues(fields, (value, name) => (Object.hasOwn(by, name) ? by[name]!(value) : value));
}

/** Leaves out the fields that the schema knows and that are null: an API server would not have stored them. */
export function withoutNulls(fields: Fields, schema: z.ZodObject): Fields {
  if (!Object.values(fields).includes(null)) return fields;
  return mapValues(fields, (value, name) => (value === null && Object.hasOwn(schema.shape, name) ? undefined : value));
}
