/** What a split writes on the pool when it begins: enough for the next run to go on from there. */
import { z } from "zod";
import type { IPPool } from "../../api/v3.ts";

const ANNOTATION = "ipam-operator.io/split";

const mark = z.object({
  parts: z.int().describe("Into how many it is being cut."),
  disabled: z.boolean().optional().describe("What the pool had before it was disabled."),
});
export type Mark = z.infer<typeof mark>;

/** Undefined where no split has begun, or one of calicoctl's. */
export function markOf({ metadata }: IPPool): Mark | undefined {
  const text = metadata.annotations?.[ANNOTATION];
  if (text === undefined) return undefined;
  const read = mark.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new Error(`IPPool "${metadata.name}": annotation ${ANNOTATION} cannot be read: ${text}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The pool disabled, and marked. */
export function marked<P extends IPPool>(pool: P, parts: number): P {
  const { disabled } = pool.spec;
  const text = JSON.stringify({ parts, disabled } satisfies Mark);
  const annotations = { ...pool.metadata.annotations, [ANNOTATION]: text };
  return { ...pool, metadata: { ...pool.metadata, annotations }, spec: { ...pool.spec, disabled: true } };
}
