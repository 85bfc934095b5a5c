/** Why a manifest is refused, for the person who wrote it: an API server's words, and what to write instead. */

import type { Problem } from "../api/admission/problem.ts";
import { type AdmittedKind, schemaOf } from "../api/admission/schemas.ts";
import type { UnknownField } from "../api/admission/unknown-fields.ts";
import type { CrdSchema } from "../api/crd-schema.ts";
import { nearest } from "./nearest.ts";

/** The problem's words, with advice where they say too little. */
export function explained(kind: AdmittedKind, problem: Problem | UnknownField): string {
  const advice = "known" in problem ? meant(problem) : written(kind, problem);
  return advice === undefined ? problem.words : `${problem.words}; ${advice}`;
}

/** A field is seldom unknown on purpose. */
function meant({ path, known }: UnknownField): string {
  const near = nearest(String(path.at(-1)), known);
  return near === undefined ? `known are ${known.join(", ")}` : `did you mean ${near}?`;
}

/** Of a value that is missing, or of another type, or fixed: a list of choices is in the words already. */
function written(kind: AdmittedKind, { path, words }: Problem): string | undefined {
  if (kind === "IPPool" && words.includes(": Forbidden: ")) return "make another pool, and move to it";
  if (!/must be of type|Required value$|cannot unmarshal/.test(words)) return undefined;
  const advice = path[0] === "metadata" ? TEXT : adviceFor(schemaAt(schemaOf(kind), path), String(path.at(-1)));
  return advice && `write ${advice}`;
}

const TEXT = "text, in quotes where it looks like a number or like true or false";

function adviceFor(schema: CrdSchema | undefined, name: string): string | undefined {
  if (schema === undefined) return undefined;
  if (schema.enum) return oneOf(schema.enum);
  if (schema.type === "boolean") return "true or false, without quotes";
  if (schema.type === "integer") return numberAdvice(schema, name);
  if (schema.type === "string")
    return schema.format === "cidr" ? "a range such as 10.0.0.0/16, a single address as 10.0.0.1/32" : TEXT;
  if (schema.type === "array") return "a list, each entry after a dash";
  return schema.type === "object" ? "its fields below it, indented" : undefined;
}

function numberAdvice({ minimum, maximum }: CrdSchema, name: string): string {
  const unit = name.endsWith("Seconds") ? " of seconds" : "";
  const range = maximum === undefined ? "" : ` from ${minimum} to ${maximum}`;
  return `a whole number${unit}${range}, without ${unit && "unit or "}quotes`;
}

/** A choice in words: `A, B or C`. */
function oneOf(values: readonly unknown[]): string {
  return `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

function schemaAt(schema: CrdSchema, path: Problem["path"]): CrdSchema | undefined {
  return path.reduce((at: CrdSchema | undefined, key) => {
    return typeof key === "number" ? at?.items : (at?.properties?.[String(key)] ?? at?.additionalProperties);
  }, schema);
}
