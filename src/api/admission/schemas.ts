/** The schema that objects of a kind are admitted by: that of its CRD. */
import type { CrdSchema, Flavour } from "../crd-schema.ts";
import { isFields, mapValues } from "../fields.ts";
import { kindSchema } from "../kind-schemas.ts";
import type { IpamKind } from "../v3.ts";

export type AdmittedKind = IpamKind | "Installation";

const schemas = new Map<string, CrdSchema>();

/** Made when it is asked for first. */
export function schemaOf(kind: AdmittedKind, flavour: Flavour = "v3"): CrdSchema {
  const key = `${flavour} ${kind}`;
  const schema = schemas.get(key) ?? kindSchema(kind, flavour);
  schemas.set(key, schema);
  return schema;
}

/** An object without fields that are null where their schema knows no null: a server drops them before it looks. */
export function withoutNullFields<T>(kind: AdmittedKind, object: T): T {
  return pruned(schemaOf(kind), object) as T;
}

function pruned(schema: CrdSchema | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => pruned(schema?.items, entry));
  if (schema === undefined || !isFields(value)) return value;
  return mapValues(value, (field, name) => {
    const inner = schema.properties?.[name] ?? schema.additionalProperties;
    return field === null && inner !== undefined && !inner.nullable ? undefined : pruned(inner, field);
  });
}
