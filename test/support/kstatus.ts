/** How kstatus tools (such as Flux) judge an object, so that every status can be checked by their rules. */
import type { Condition, ObjectMeta } from "../../src/api/meta.ts";

export type KStatus = "Terminating" | "InProgress" | "Failed" | "Current";

interface Judged {
  readonly metadata: ObjectMeta;
  readonly status?:
    | { readonly observedGeneration?: number | undefined; readonly conditions?: readonly Condition[] | undefined }
    | undefined;
}

export function kstatusOf({ metadata, status }: Judged): KStatus {
  const is = (type: string, value: Condition["status"]) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false;
  if (metadata.deletionTimestamp) return "Terminating";
  if (metadata.generation !== status?.observedGeneration) return "InProgress";
  if (is("Stalled", "True")) return "Failed";
  if (is("Reconciling", "True")) return "InProgress";
  return is("Ready", "True") ? "Current" : "InProgress";
}
