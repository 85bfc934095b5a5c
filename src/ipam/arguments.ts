/**
 * What callers ask, checked at one door before anything is read or written: TypeScript's types end where JavaScript,
 * JSON and numbers begin.
 */
import type { z } from "zod";
import type { CallOptions } from "../datastore/datastore.ts";
import { forCall, PARAMETERS } from "./argument-forms.ts";
import type { Ipam } from "./client.ts";
import { IpamError } from "./errors.ts";
import { shown } from "./words.ts";

/** The same library behind the door: a call that is cancelled already, or asks nonsense, ends before it begins. */
export function behindTheDoor(ipam: Ipam): Ipam {
  const methods = Object.entries(PARAMETERS).map(([name, parameters]) => {
    const method = ipam[name as keyof Ipam] as (...args: readonly unknown[]) => Promise<unknown>;
    const schemas = Object.entries(parameters);
    return [
      name,
      async (...args: readonly unknown[]) => {
        const options = args[schemas.length];
        checkArguments(name, [["options", forCall]], [options]);
        (options as CallOptions | undefined)?.signal?.throwIfAborted();
        checkArguments(name, schemas, args);
        return method(...args);
      },
    ];
  });
  return Object.fromEntries(methods) as Ipam;
}

/** @throws IpamError InvalidArgument, naming every argument at fault */
export function checkArguments(
  method: string,
  schemas: readonly [string, z.ZodType][],
  args: readonly unknown[],
): void {
  const details = schemas.flatMap(([name, schema], index) =>
    readable(method, name, () => problemsOf(name, schema, args[index])),
  );
  if (details.length === 0) return;
  throw new IpamError("InvalidArgument", `${method}: ${details.join("; ")}`, { details });
}

/** Getters and proxies run the caller's code, which may throw anything. */
function readable<T>(method: string, parameter: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new IpamError("InvalidArgument", `${method}: ${parameter} cannot be read: reading it throws`, { cause });
  }
}

function problemsOf(parameter: string, schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => {
    const steps = parameter === "args" && path.length > 0 ? path : [parameter, ...path];
    return `${steps.map(String).join(".")} ${message} (given: ${shown(at(value, path))})`;
  });
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}
