/** What every object has in common: `metadata`, and the condition type that Kubernetes tools read. */
import { z } from "zod";

/**
 * Schema of an object as it is stored. A field that is not named here is kept, so that what a newer version adds survives a
 * read-modify-write. The TypeScript type has the named fields only: a misspelt field of an object literal does not compile.
 */
export function wireObject<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<S, z.core.$strip>;
}

/** One writer's claim on fields, kept by the API server. Only what drift attribution reads is described. */
export const managedFieldsEntry = z.looseObject({
  manager: z.string().optional(),
  operation: z.string().optional(),
  time: z.string().optional(),
  subresource: z.string().optional(),
  fieldsV1: z.record(z.string(), z.unknown()).optional(),
});
export type ManagedFieldsEntry = z.infer<typeof managedFieldsEntry>;

/** Wire metadata keeps what it does not know: it is written back as it was read. */
export const objectMeta = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  managedFields: z.array(managedFieldsEntry).optional(),
});
/** Metadata of an object; what a newer Kubernetes adds is kept. */
export type ObjectMeta = z.infer<typeof objectMeta>;

/** The least any Kubernetes object has. */
export interface KubeObject {
  /** Group and version: `projectcalico.org/v3`. */
  readonly apiVersion: string;
  /** Such as `IPPool`. */
  readonly kind: string;
  /** Name, labels, revision. */
  readonly metadata: ObjectMeta;
  /** What is asked for. */
  readonly spec?: unknown;
  /** What is observed. */
  readonly status?: unknown;
}

/** Status of one aspect of an object, as `kubectl wait` and kstatus read it. */
export const condition = z.object({
  type: z.string().describe("Aspect of the object: Ready, Reconciling or Stalled."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether the aspect holds."),
  reason: z.string().describe("One word from the closed list of reasons, for programs."),
  message: z.string().describe("A sentence that says what is so and, where something is wrong, what to do."),
  lastTransitionTime: z.iso.datetime().describe("When the status last changed."),
  observedGeneration: z.int().optional().describe("The metadata.generation this condition was made from."),
});
/** Status of one aspect of an object. */
export type Condition = z.infer<typeof condition>;
