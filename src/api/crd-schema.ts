/**
 * From a zod schema to the structural schema of a CRD. zod's own output comes close; what an API server refuses or
 * reads differently is put right here.
 */
import { z } from "zod";
import type { CelRule } from "./ippool-rules.ts";

/** The generation whose keywords (`.meta({ v1, v3 })`) the schema takes. */
export type Flavour = "v1" | "v3";

/** The part of OpenAPI v3 that CRDs use. */
export interface CrdSchema {
  type?: string;
  description?: string;
  properties?: Record<string, CrdSchema>;
  required?: string[];
  additionalProperties?: CrdSchema;
  items?: CrdSchema;
  enum?: unknown[];
  format?: string;
  pattern?: string;
  nullable?: boolean;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-validations"?: readonly CelRule[];
  [keyword: string]: unknown;
}

/** The structural schema of a zod schema for one generation. */
export function crdSchema(schema: z.ZodType, flavour: Flavour): CrdSchema {
  const json = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "any",
    reused: "inline",
  });
  return structural(json as RawSchema, flavour);
}

type RawSchema = CrdSchema & { v1?: CrdSchema; v3?: CrdSchema; crdRequired?: boolean; $schema?: string };

function structural(raw: RawSchema, flavour: Flavour): CrdSchema {
  const { v1, v3, crdRequired: _, $schema: __, ...common } = raw;
  const schema: CrdSchema = { ...withoutZodBounds(common), ...(flavour === "v1" ? v1 : v3) };
  // zod checks the text of a date by a pattern; `date-time` alone is what the API server checks, and Go's output passes.
  if (schema.format === "date-time") delete schema.pattern;
  if (schema.items) schema.items = structural(schema.items, flavour);
  if (schema.properties) schema.properties = structuralProperties(schema, flavour);
  // A loose object gives `{}` beside properties, which is not structural: such fields are pruned, as Calico's CRDs do.
  if (schema.properties) delete schema.additionalProperties;
  else if (schema.additionalProperties) {
    schema.additionalProperties = structural(schema.additionalProperties, flavour);
  }
  return schema;
}

function structuralProperties(schema: CrdSchema, flavour: Flavour): Record<string, CrdSchema> {
  const properties = Object.entries(schema.properties as Record<string, RawSchema>);
  const forced = properties.filter(([, property]) => property.crdRequired).map(([name]) => name);
  const required = [...new Set([...(schema.required ?? []), ...forced])];
  if (required.length > 0) schema.required = required;
  return Object.fromEntries(properties.map(([name, property]) => [name, structural(property, flavour)]));
}

/** `z.int()` gives the bounds of a double's whole numbers, which say nothing about the field. */
function withoutZodBounds(schema: CrdSchema): CrdSchema {
  const { minimum, maximum, ...rest } = schema;
  return {
    ...rest,
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  };
}
