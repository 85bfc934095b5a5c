/** From the values' zod schemas to what Helm checks values with, and to the rows that values.yaml and README show. */
import { z } from "zod";

/** The part of JSON Schema that describes values. */
export interface ValueSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
}

/** Draft 7 is what Helm 3 and Helm 4 both read. */
export function jsonSchema(values: z.ZodType): ValueSchema {
  const schema = withRequired(z.toJSONSchema(values, { target: "draft-7", io: "input" }) as ValueSchema);
  const { required = [], ...rest } = schema;
  // The one value that came after a release: `helm upgrade --reuse-values` brings no defaults of new values.
  return { ...rest, required: required.filter((name) => name !== "enabled") };
}

/**
 * Helm takes a value away that a user sets to null. A list or a free object is then empty, as it is elsewhere in
 * Kubernetes; anything else would be missed by the templates, and is asked for by name.
 */
function withRequired(schema: ValueSchema): ValueSchema {
  const members = membersOf(schema);
  if (members === undefined) return schema;
  const mayBeAway = (value: ValueSchema) =>
    value.type === "array" || (value.type === "object" && (isOpen(value) || !membersOf(value)));
  const required = isOpen(schema) ? [] : members.filter(([, value]) => !mayBeAway(value)).map(([name]) => name);
  const properties = Object.fromEntries(members.map(([name, value]) => [name, withRequired(value)]));
  return { ...schema, properties, ...(required.length > 0 && { required }) };
}

/** A group that also holds what other charts read: releases from before it have none of its values. */
const isOpen = ({ additionalProperties }: ValueSchema) => additionalProperties !== false;

export function schemaFile(values: z.ZodType): string {
  return `${JSON.stringify(jsonSchema(values), null, 2)}\n`;
}

/** The values of a group; undefined for a single value. Settings without a default, as of an Installation, are none. */
export function membersOf({ properties = {} }: ValueSchema): [name: string, value: ValueSchema][] | undefined {
  const members = Object.entries(properties);
  return members.length > 0 && members.every(([, value]) => value.default !== undefined) ? members : undefined;
}
