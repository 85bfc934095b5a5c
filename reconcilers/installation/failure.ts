/** What a failed call means for the user: a reason and a sentence that says what to do. */
import { installAdvice } from "../../src/api/crd-advice.ts";
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { isMoved } from "../../src/datastore/moved.ts";
import { IpamError } from "../../src/ipam/errors.ts";
import { isKubeError } from "../../src/kube/types.ts";
import type { Outcome } from "./reasons.ts";
import { configurationOf, type Surroundings } from "./surroundings.ts";

/** The stored configuration is there but cannot be read. */
export class UnreadableConfiguration extends Error {
  override readonly name = "UnreadableConfiguration";
}

/** How policies and webhooks of others say no, with the same status as a missing permission. */
const ADMISSION = /denied (the )?request/;

const versionOf = (apiGroup: string) => apiGroup.split("/")[1] ?? "v3";

/** The outcome to report; undefined for what is no finding about the cluster (a lost race, an abort, a fault of ours). */
export function outcomeOfFailure(error: unknown, surroundings: Surroundings): Outcome | undefined {
  const { datastore } = surroundings;
  if (error instanceof UnreadableConfiguration) {
    const remedy =
      datastore.apiGroup === "embedded"
        ? "Add a manifest for it to the manifests folder, which replaces it"
        : "Correct it, or delete it so that the operator recreates it";
    const message = `${configurationOf(surroundings)} cannot be read: ${error.message}. ${remedy}`;
    return { reason: "InvalidSpec", message };
  }
  if (error instanceof IpamError)
    return error.code === "MaxRetries" ? undefined : { reason: "InvalidSpec", message: error.message };
  if (isDatastoreError(error, "Invalid")) return { reason: "InvalidSpec", message: error.message };
  if (isDatastoreError(error, "Unauthorized") && ADMISSION.test(error.message)) {
    return { reason: "InvalidSpec", message: `admission on this cluster refuses the write: ${error.message}` };
  }
  if (isDatastoreError(error, "Unauthorized") && isKubeError(error.cause, "Unauthorized")) {
    return { reason: "Forbidden", message: error.message }; // it is about credentials, and says so
  }
  if (isDatastoreError(error, "Unauthorized")) {
    return { reason: "Forbidden", message: `${error.message}. Apply the operator's role (rbac/operator.yaml)` };
  }
  if (isDatastoreError(error, "NotServed")) {
    if (isMoved(error)) return { reason: "APINotInstalled", message: error.message };
    return {
      reason: "APINotInstalled",
      message: `${datastore.apiGroup} is not served. Install its CRDs: ${installAdvice(versionOf(datastore.apiGroup))}. Retried every 30 s`,
    };
  }
  return isDatastoreError(error, "Unavailable") ? { reason: "Unavailable", message: error.message } : undefined;
}
