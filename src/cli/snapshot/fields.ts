/** Reads the parts of an object that facts are made from: what is null is absent, anything else of another type is an error. */
import { z } from "zod";

export const text = z.string().nullish();
export const flag = z.boolean().nullish();

/** @throws Error that names the field */
export function fieldsOf<T extends z.ZodRawShape>(
  part: string,
  value: unknown,
  shape: z.ZodObject<T>,
): z.infer<typeof shape> {
  const { data, error } = shape.safeParse(value ?? {});
  if (data !== undefined) return data;
  const { path, message } = error!.issues[0]!;
  throw new Error(`${[part, ...path].join(".")}: ${message}`);
}
