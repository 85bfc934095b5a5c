/** Turns what the API server, or the conversion, says into the datastore's closed list of errors. */
import { ConversionError } from "../api/conversion.ts";
import { adviceFor as installing } from "../api/crd-advice.ts";
import { isKubeError, type KubeError, type KubeErrorCode, type ResourceType } from "../kube/types.ts";
import { DatastoreError, type DatastoreErrorCode } from "./datastore.ts";

const CODES: Readonly<Record<KubeErrorCode, DatastoreErrorCode>> = {
  NotFound: "NotFound",
  AlreadyExists: "AlreadyExists",
  Conflict: "Conflict",
  Expired: "Expired",
  Forbidden: "Unauthorized",
  Unauthorized: "Unauthorized",
  Invalid: "Invalid",
  BadRequest: "Invalid",
  UnsupportedMediaType: "Invalid",
  TooManyRequests: "Unavailable",
  ServerError: "Unavailable",
  Unavailable: "Unavailable",
  Timeout: "Unavailable",
  TooLarge: "Unavailable",
  NoCluster: "NoCluster",
  KubeconfigNotFound: "KubeconfigNotFound",
  KubeconfigInvalid: "KubeconfigInvalid",
  ContextNotFound: "ContextNotFound",
};

/** The datastore's error for a failed call; what is neither the server's nor a conversion's stays as it is. */
export function datastoreError(error: unknown, resource: ResourceType, name: string): unknown {
  if (error instanceof ConversionError) {
    return new DatastoreError("Invalid", resource.kind, name, error.message, { cause: error });
  }
  if (!isKubeError(error)) return error;
  const code = codeOf(error);
  const message = code === "NotServed" ? notServed(resource) : error.message + adviceFor(error, code);
  return new DatastoreError(code, resource.kind, name, message, { cause: error });
}

/** A PUT says it in one way, a DELETE in the other. */
const OTHER_UID = /UID in (the )?precondition/;

/** The code of an error that is about no object. */
export const datastoreCode = ({ code }: KubeError): DatastoreErrorCode => CODES[code];

/** Section 1.6 of the formats: a changed UID means another object, and with it that the one meant is gone. */
function codeOf(error: KubeError): DatastoreErrorCode {
  if (error.code === "NotFound" && !namesObject(error)) return "NotServed";
  if (error.code === "Conflict" && OTHER_UID.test(error.message)) return "NotFound";
  if (error.code === "Invalid" && onlyCauseIs(error, "metadata.uid")) return "NotFound";
  if (error.code === "Invalid" && onlyCauseIs(error, "metadata.resourceVersion")) return "Conflict";
  return CODES[error.code];
}

/** A 404 for an object names it; one for a kind that is not served, or a list, does not. */
function namesObject(error: KubeError): boolean {
  return Boolean((error.details as { readonly name?: string } | undefined)?.name);
}

function onlyCauseIs(error: KubeError, field: string): boolean {
  const causes = error.details?.causes ?? [];
  return causes.length > 0 && causes.every((cause) => cause.field === field);
}

function notServed(resource: ResourceType): string {
  const { kind, plural, group, version } = resource;
  const advice = installing(resource);
  const how = advice === undefined ? "" : `: ${advice}`;
  return `${kind} (${group}/${version}) is not served by the cluster: install the CRD ${plural}.${group}${how}`;
}

/** Admission refuses with the same status as RBAC; only RBAC's refusal is mended by granting something. */
const DENIED_BY_RBAC = /User ".*" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"/;

/** No role is missing: the server does not know who asks. */
const CREDENTIALS =
  ". The server does not accept the credentials (401): they are missing, wrong or expired. Renew the token or certificate";

/** Of what the server refused, which need not be the kind that was asked for in the end. */
function adviceFor({ code: answer, message }: KubeError, code: DatastoreErrorCode): string {
  if (answer === "Unauthorized") return CREDENTIALS;
  const [, verb, plural, group] = (code === "Unauthorized" && DENIED_BY_RBAC.exec(message)) || [];
  return verb === undefined ? "" : `. Grant this user "${verb}" on ${group ? `${plural}.${group}` : plural}`;
}
