/** What a schema finds wrong with a manifest, in words for its writer: the value found, where, and what to write. */
import { z } from "zod";
import { nearest } from "./nearest.ts";

/** A problem at a field. */
export interface FieldProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** A manifest's value and the schema that it does not meet. */
export interface Judged {
  readonly value: unknown;
  readonly schema: z.core.$ZodType;
}

/** One schema issue in words. Several unknown keys are one issue of zod's, but several problems of a person's. */
export function wordsFor(issue: z.core.$ZodIssue, { value, schema }: Judged): FieldProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysOf(schemaAt(schema, issue.path));
    return issue.keys.map((key) => unknownField([...issue.path, key], known));
  }
  const [found, field] = [valueAt(value, issue.path), schemaAt(schema, issue.path)];
  if (found === undefined) return [missingField(issue.path, { value, schema })];
  const advice = field && adviceFor(field, String(issue.path.at(-1)));
  const message = advice === undefined ? issue.message : `${faultOf(found, field)} write ${advice}`;
  return [{ path: issue.path, message: `${issue.path.join(".")}: ${message}` }];
}

/** A field that is none, and what its writer may have meant. */
export function unknownField(path: readonly PropertyKey[], known: readonly string[]): FieldProblem {
  const near = nearest(String(path.at(-1)), known);
  const advice = near === undefined ? `known are ${known.join(", ")}` : `did you mean ${near}?`;
  return { path, message: `unknown field ${path.join(".")}; ${advice}` };
}

/** A field is often missing because it is misspelt; then the misspelt key is what its writer can find. */
function missingField(path: readonly PropertyKey[], { value, schema }: Judged): FieldProblem {
  const [holder, name] = [path.slice(0, -1), String(path.at(-1))];
  const known = keysOf(schemaAt(schema, holder));
  const strange = Object.keys(valueAt(value, holder) ?? {}).filter((key) => !known.includes(key));
  const misspelt = nearest(name, strange);
  if (misspelt !== undefined) return unknownField([...holder, misspelt], [name]);
  const field = schemaAt(schema, path);
  const advice = field && adviceFor(field, name);
  return { path, message: `${path.join(".")}: missing${advice === undefined ? "" : `; write ${advice}`}` };
}

/** What stands in a field, to begin the sentence with. */
export function faultOf(found: unknown, field: z.core.$ZodType | undefined): string {
  if (found === null) return field instanceof z.ZodOptional ? "empty; leave it out, or" : "empty;";
  const text = typeof found === "number" ? String(found) : JSON.stringify(found);
  return `found ${text.length > 40 ? `${text.slice(0, 39)}…` : text};`;
}

/** What to write into a field; undefined where its type says too little. */
function adviceFor(field: z.core.$ZodType, name: string): string | undefined {
  const schema = bare(field);
  if (schema instanceof z.ZodBoolean) return "true or false, without quotes";
  if (schema instanceof z.ZodNumber) return numberAdvice(schema, name);
  if (schema instanceof z.ZodString) return "text, in quotes where it looks like a number or like true or false";
  if (schema instanceof z.ZodEnum) return oneOf(schema.options);
  if (schema instanceof z.ZodArray) return "a list, each entry after a dash";
  return schema instanceof z.ZodObject || schema instanceof z.ZodRecord ? "its fields below it, indented" : undefined;
}

function numberAdvice({ minValue, maxValue }: z.ZodNumber, name: string): string {
  const unit = name.endsWith("Seconds") ? " of seconds" : "";
  const isBounded = maxValue !== null && maxValue < Number.MAX_SAFE_INTEGER;
  const range = isBounded ? ` from ${minValue} to ${maxValue}` : "";
  return `a whole number${unit}${range}, without ${unit && "unit or "}quotes`;
}

/** A choice in words: `A, B or C`. */
export function oneOf(values: readonly unknown[]): string {
  return `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}

function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  return path.reduce((at: z.core.$ZodType | undefined, key) => at && within(bare(at), key), schema);
}

function within(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[String(key)];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
}

function bare(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : schema;
}

function keysOf(schema: z.core.$ZodType | undefined): string[] {
  const object = schema && bare(schema);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}
