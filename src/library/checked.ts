/** Functions and objects of the public interface behind a check of their arguments: TypeScript's types end where JavaScript begins. */
import type { z } from "zod";
import { checkArguments } from "../ipam/arguments.ts";

/** The parameters of a function, in their order. */
export type Forms = Readonly<Record<string, z.ZodType>>;
type Callable = (...args: never[]) => unknown;

/** The same function. @throws IpamError InvalidArgument, naming the argument, before anything is done */
export function checked<F extends Callable>(name: string, parameters: Forms, call: F): F {
  const schemas = Object.entries(parameters);
  const behind = (...args: readonly unknown[]) => {
    checkArguments(name, schemas, args);
    return call(...(args as never[]));
  };
  return behind as unknown as F;
}

/** A function that ends in a promise: it rejects. */
export function checkedAsync<F extends (...args: never[]) => Promise<unknown>>(
  name: string,
  parameters: Forms,
  call: F,
): F {
  const behind = checked(name, parameters, call) as unknown as (...args: readonly unknown[]) => unknown;
  return (async (...args: readonly unknown[]) => behind(...args)) as unknown as F;
}

/** The same object with some of its methods checked and some of its parts replaced; a method that it lacks stays absent. */
export function withChecks<T extends object>(target: T, name: string, methods: Methods, parts: Partial<T> = {}): T {
  const bound = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get(_target, key) {
      if (Object.hasOwn(parts, key)) return parts[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (!bound.has(key)) bound.set(key, methodOf(target, `${name}.${String(key)}`, value, methods[String(key)]));
      return bound.get(key);
    },
  });
}

/** How a method is checked. */
export interface Method {
  readonly parameters: Forms;
  /** Whether it answers at once, not by a promise. */
  readonly sync?: boolean;
}
export type Methods = Readonly<Record<string, Method>>;

function methodOf(target: object, name: string, value: unknown, method: Method | undefined): unknown {
  const call = (value as (...args: never[]) => Promise<unknown>).bind(target);
  if (method === undefined) return call;
  return (method.sync ? checked : checkedAsync)(name, method.parameters, call);
}
