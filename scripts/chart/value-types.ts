/** The kinds of values that the charts have: each with its default and its description. */
import { z } from "zod";

/** Values that belong together; an unknown name among them is refused. */
export const group = (description: string, values: Record<string, z.ZodType>) =>
  z.strictObject(values).prefault({}).describe(description);

export const toggle = (standard: boolean, description: string) => z.boolean().default(standard).describe(description);

export const text = (standard: string, description: string) => z.string().default(standard).describe(description);

export const port = (standard: number, description: string) =>
  z.int().min(1).max(65_535).default(standard).describe(description);

/** Labels or annotations: a number or a truth value, which YAML makes of `1` and `yes`, needs quotes. */
export const texts = (standard: Record<string, string>, description: string) =>
  z.record(z.string(), z.string()).default(standard).describe(description);

/** Whatever Kubernetes takes there: the API server is its judge. */
export const anyObject = (standard: Record<string, unknown>, description: string) =>
  z.record(z.string(), z.unknown()).default(standard).describe(description);

export const listOf = <T extends z.ZodType>(item: T, standard: z.output<T>[], description: string) =>
  z
    .array(item)
    .default(standard as never)
    .describe(description);
