/** Reads who gets which role from the operator's own configuration (`--rbac-subjects FILE`). */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import type { Subject } from "./objects.ts";
import { GRANTED_ROLES, type GrantedRole } from "./permissions.ts";

/** Who gets which role; a role without an entry gets no binding. */
export type RoleSubjects = ReadonlyMap<GrantedRole, readonly Subject[]>;

const name = z.string().min(1, "must not be empty");
/** Whom a binding names. */
export const subject = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("ServiceAccount"), namespace: name, name }),
  z.strictObject({ kind: z.literal("User"), name }),
  z.strictObject({ kind: z.literal("Group"), name }),
]);
/** What the file may say. */
export const subjectsFile = z.strictObject(
  Object.fromEntries(GRANTED_ROLES.map((role) => [role, z.array(subject).optional()])) as Record<
    GrantedRole,
    z.ZodOptional<z.ZodArray<typeof subject>>
  >,
);

/** The configuration is wrong: the message names the file, each place in it, and what is expected there. */
export class SubjectsError extends Error {
  override readonly name = "SubjectsError";
}

const EXPECTED =
  `Expected a map from role (${GRANTED_ROLES.join(", ")}) to a list of subjects, ` +
  "for example `cni-plugin: [{kind: ServiceAccount, namespace: kube-system, name: calico-node}]`.";

/**
 * @param text the file's content, YAML or JSON; empty means nobody
 * @param source how to name it in an error
 * @throws SubjectsError
 */
export function parseSubjects(text: string, source: string): RoleSubjects {
  const parsed = subjectsFile.safeParse(parseYaml(text, source) ?? {});
  if (!parsed.success) throw new SubjectsError(`${source}: ${describe(parsed.error)}. ${EXPECTED}`);
  const given = GRANTED_ROLES.map((role) => [role, parsed.data[role] ?? []] as const);
  return new Map(given.filter(([, subjects]) => subjects.length > 0));
}

/** @throws SubjectsError where the file cannot be read or is wrong */
export async function readSubjects(path: string): Promise<RoleSubjects> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new SubjectsError(`${path}: cannot be read (${cause.code}). Give --rbac-subjects a readable file.`, {
      cause,
    });
  });
  return parseSubjects(text, path);
}

function parseYaml(text: string, source: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new SubjectsError(`${source}: not YAML: ${(cause as Error).message}`, { cause });
  }
}

const describe = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`).join("; ");
