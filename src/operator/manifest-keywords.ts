/** Keywords that only the CRDs have (`enum`, `minimum`, `maximum`): schemas read older data, a manifest is new. */
import { z } from "zod";
import { type FieldProblem, faultOf, oneOf } from "./manifest-words.ts";

interface Keywords {
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Every field of a spec, and every entry of its lists, whose value the v3 CRD does not admit. */
export function keywordProblems(spec: object, schema: z.ZodObject): FieldProblem[] {
  return Object.entries(spec).flatMap(([name, value]) => fieldProblems(["spec", name], value, schema.shape[name]));
}

function fieldProblems(path: readonly PropertyKey[], value: unknown, field: unknown): FieldProblem[] {
  if (!(field instanceof z.ZodType)) return [];
  const bare: unknown = field instanceof z.ZodOptional ? field.unwrap() : field;
  if (bare instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((entry, at) => fieldProblems([...path, at], entry, bare.element));
  const advice = adviceAgainst(value, keywordsOf(field));
  return advice === undefined ? [] : [{ path, message: `${path.join(".")}: ${faultOf(value, field)} write ${advice}` }];
}

function keywordsOf(field: z.ZodType): Keywords {
  const { v3, ...both } = (field.meta() ?? {}) as Keywords & { v3?: Keywords };
  return { ...both, ...v3 };
}

function adviceAgainst(value: unknown, { enum: values, minimum, maximum }: Keywords): string | undefined {
  if (values !== undefined && !values.includes(value)) return oneOf(values);
  if (typeof value !== "number" || minimum === undefined || maximum === undefined) return undefined;
  return value < minimum || value > maximum ? `a number from ${minimum} to ${maximum}` : undefined;
}
