/** What a conversion says when it cannot: which object, which field, what is there, and what to do. */
import type { z } from "zod";
import { isFields } from "./fields.ts";
import type { Resource } from "./resources.ts";

/** The object being converted. `stored`: it comes from a cluster, so a person can mend it there. */
export interface Subject {
  readonly resource: Resource;
  readonly name: string;
  readonly stored: boolean;
}

/** An object that cannot be converted. */
export class ConversionError extends Error {
  override readonly name = "ConversionError";
  readonly kind: string;
  readonly object: string;
  /** Path of the field at fault: `spec.allocations[3]`. */
  readonly field: string;

  constructor(subject: Subject, field: string, problem: string, advice = adviceFor(subject)) {
    const { resource, name } = subject;
    super(`${resource.kind} "${name}" cannot be converted: ${field} ${problem}. ${advice}`);
    this.kind = resource.kind;
    this.object = name;
    this.field = field;
  }
}

/** The first finding of a schema as an error that shows the value at fault. */
export function schemaError(subject: Subject, value: unknown, error: z.ZodError): ConversionError {
  const { path, message } = error.issues[0]!;
  const found = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
  const problem = found === undefined ? "is missing" : `is ${shown(found)}: ${message.replace(/^Invalid \w+: /, "")}`;
  return new ConversionError(subject, path.map(step).join("").replace(/^\./, ""), problem);
}

/** A resource as kubectl takes it, whatever other groups serve the same plural. */
export function kubectlName({ resource, name }: Subject): string {
  return `${resource.plural}.${resource.group} ${name}`;
}

function adviceFor(subject: Subject): string {
  if (!subject.stored) return "Nothing was written; give the field a value of its type.";
  return `Correct it: kubectl edit ${kubectlName(subject)}`;
}

function step(key: PropertyKey): string {
  if (typeof key === "number") return `[${key}]`;
  return /^\w+$/.test(String(key)) ? `.${String(key)}` : `["${String(key)}"]`;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isFields(value)) return "an object";
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
}
