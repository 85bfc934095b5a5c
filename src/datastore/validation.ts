/** Checks objects that come from outside against the schemas, and says which object and field is at fault. */
import type { z } from "zod";
import { INSTALLATION_KIND, installation, SINGLETON_NAME } from "../api/installation.ts";
import { isObjectName, LONGEST_OBJECT_NAME } from "../api/names.ts";
import { v3Schemas } from "../api/v3.ts";
import { DatastoreError, type Kind, type Stored } from "./datastore.ts";

const schemas: Readonly<Record<Kind, z.ZodType>> = { ...v3Schemas, Installation: installation };

/** Every kind that is kept in a datastore. */
export const KINDS = Object.keys(schemas) as readonly Kind[];

/** Refuses what cannot be read again. @throws DatastoreError Invalid, naming every field at fault */
export function validate(object: Stored<Kind>): void {
  refuse(object, problemsOf(object.kind as Kind, object));
}

/** @throws DatastoreError Invalid where there is a problem */
export function refuse({ kind, metadata }: Stored<Kind>, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const name = String(metadata?.name ?? "");
  throw new DatastoreError("Invalid", kind, name, `${kind} "${name}" is invalid: ${problems.join("; ")}`);
}

/** Whether objects of this kind are kept in a datastore. */
export const isKind = (kind: string): kind is Kind => Object.hasOwn(schemas, kind);

/** What is wrong with an object of this kind, a field each. */
export function problemsOf(kind: Kind, object: unknown): string[] {
  if (!isKind(kind)) return [`kind: "${kind}" is not one of ${KINDS.join(", ")}`];
  const result = schemas[kind].safeParse(object);
  const found = result.error?.issues.map((issue) => `${pathText(issue.path)}: ${issue.message}`) ?? [];
  return [...found, ...nameProblems(kind, (object as Stored<Kind> | null)?.metadata?.name)];
}

function nameProblems(kind: Kind, name: unknown): string[] {
  if (typeof name !== "string") return []; // the schema has said so
  if (kind === INSTALLATION_KIND && name !== SINGLETON_NAME) return [`metadata.name: only "${SINGLETON_NAME}" is read`];
  if (isObjectName(name)) return []; // as an API server would: data can move to one
  return [
    `metadata.name: "${name}" must be lower-case letters, digits, "-" and ".", at most ${LONGEST_OBJECT_NAME} long`,
  ];
}

function pathText(path: readonly PropertyKey[]): string {
  const steps = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  return steps.join("").replace(/^\./, "") || "the object";
}
