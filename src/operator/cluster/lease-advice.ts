/** What a person does about a lease that cannot be written. Pure. */
import { isKubeError } from "../../kube/types.ts";
import { errorText } from "../log.ts";

const REMEDY =
  "Apply the operator's role and namespace: kubectl apply -f rbac/operator.yaml, " +
  "or name a namespace that it may use with --namespace";

/** A sentence where something of the installation is missing; none where the API server has to come back. */
export function leaseAdvice(error: unknown): string | undefined {
  if (isKubeError(error, "Forbidden")) return REMEDY;
  // A lease that was deleted is not found either, and is made again without anybody's help.
  return isKubeError(error, "NotFound") && error.message.includes("namespaces ") ? REMEDY : undefined;
}

/** Why the process is not ready while the lease could never be read; `error` is of the last try. */
export function leaseMissing(error: unknown): string {
  const parts = [error === undefined ? undefined : errorText(error), leaseAdvice(error)];
  const why = parts.filter((part) => part !== undefined).join(". ");
  return `the lease has neither been written nor read yet${why && `: ${why}`}`;
}
