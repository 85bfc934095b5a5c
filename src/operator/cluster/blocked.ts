/** Turns what stands in the way into a sentence that says what is missing and what to do about it. Pure. */
import type { Blocked } from "../../../reconcilers/installation/surroundings.ts";
import { adviceFor, installAdvice } from "../../api/crd-advice.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { isKubeError, type ResourceType } from "../../kube/types.ts";
import { errorText } from "../log.ts";
import type { GroupChoice } from "./group-watch.ts";

type Choice = Pick<GroupChoice, "by" | "chosenBy">;

/** `type` undefined: it was not about one kind. */
export function blockedBy(error: unknown, type: ResourceType | undefined): Blocked {
  if (isDatastoreError(error, "NotServed")) return { reason: "APINotInstalled", message: error.message };
  if (isDatastoreError(error, "Unauthorized") || isKubeError(error, "Forbidden", "Unauthorized")) {
    return { reason: "Forbidden", message: forbidden(error, type) };
  }
  return {
    reason: "Unavailable",
    message: `The API server cannot be asked: ${errorText(error)}. It is tried again; check that it is reachable.`,
  };
}

/** The server does not know who asks, whatever roles there are. */
const isUnknownUser = (error: unknown) =>
  isKubeError(error, "Unauthorized") || (error instanceof Error && isKubeError(error.cause, "Unauthorized"));

function forbidden(error: Error, type: ResourceType | undefined): string {
  const remedy = "Apply the operator's role: kubectl apply -f rbac/operator.yaml";
  if (isUnknownUser(error)) {
    return `The API server does not accept the operator's credentials (401): ${errorText(error)}. Renew the ServiceAccount's token, or correct the kubeconfig`;
  }
  if (type === undefined) return `Not permitted: ${errorText(error)}. ${remedy}`;
  return `Not permitted to list and watch ${resourceName(type)} (${errorText(error)}). ${remedy}`;
}

export function notInstalled(type: ResourceType): Blocked {
  const remedy = adviceFor(type) ?? installAdvice(type.version);
  return { reason: "APINotInstalled", message: `${resourceName(type)} is not installed. Install it: ${remedy}` };
}

/** The group in use is not served any more, and the other one is. */
export function groupGone(type: ResourceType, other: string, { by, chosenBy }: Choice): Blocked {
  const gone = `${resourceName(type)} is not served any more; ${other} is`;
  const next =
    by === "flag"
      ? `The group was set by hand (${chosenBy}). If Calico's data has moved to ${other}, start the operator without that setting`
      : `The operator changes over to ${other}`;
  return { reason: "APINotInstalled", message: `${gone}. ${next}` };
}

function resourceName({ group, plural }: ResourceType): string {
  return group === "" ? plural : `${plural}.${group}`;
}
