/**
 * Turns what came back, or did not, into a KubeError: the server's own words after what was being done, never headers,
 * bodies or credentials.
 */
import { barePath, type Question } from "./answers.ts";
import { parseJson } from "./json.ts";
import { LARGEST_OBJECT, LARGEST_PAGE, sizeText } from "./limits.ts";
import { KubeError, type KubeErrorCode } from "./types.ts";
import { unreachableText } from "./unreachable.ts";

/** The body of a failed call, and of a watch's ERROR event. */
export interface Status {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: KubeError["details"] & { readonly retryAfterSeconds?: number };
}

export interface FailedResponse {
  readonly status: number;
  readonly body: string;
  readonly retryAfter?: string | undefined;
}

const CODE_OF_STATUS: Readonly<Record<number, KubeErrorCode>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
};
const LONGEST_MESSAGE = 1000;

/** The error of an answer that is not a success. */
export function responseError(question: Question, response: FailedResponse): KubeError {
  const retryAfter = retryAfterSeconds(response.retryAfter);
  const status = parseStatus(response.body);
  if (status !== undefined) return statusError(question.action, status, response.status, retryAfter);
  const { action, method, server } = question;
  const message = `${server} answered ${response.status} to ${method} ${barePath(question)} without saying why`;
  const { status: httpStatus, body } = response;
  // Absence is said by the API server alone, by a Status or these words: a page of a proxy says nothing of what is served.
  const isPageNotFound = httpStatus === 404 && !body.startsWith("404 page not found");
  if (!isPageNotFound) return statusError(action, { message }, httpStatus, retryAfter);
  return new KubeError("ServerError", `cannot ${action}: ${message}`, { status: httpStatus });
}

/** The error that a Status object describes. */
export function statusError(action: string, status: Status, httpStatus: number, retryAfter?: number): KubeError {
  const message = (status.message || status.reason || `status ${httpStatus}`).slice(0, LONGEST_MESSAGE);
  const seconds = retryAfter ?? status.details?.retryAfterSeconds;
  return new KubeError(codeOf(httpStatus, status.reason), `cannot ${action}: ${message}`, {
    status: httpStatus,
    reason: status.reason ?? "",
    ...(status.details && { details: status.details }),
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
  });
}

const OUTCOME_UNKNOWN = "; the outcome is unknown: read the object before trying again";

/** The error of a call that got no answer. A write may have been carried out, unless it was surely not sent. */
export function connectionError(action: string, server: string, cause: unknown, outcomeUnknown: boolean): KubeError {
  const unreachable = unreachableText(cause);
  const message = unreachable
    ? `${server} ${unreachable}. Cannot ${action}`
    : `cannot ${action}: no answer from ${server} (${causeText(cause)})`;
  return new KubeError("Unavailable", message + (outcomeUnknown ? OUTCOME_UNKNOWN : ""), { cause });
}

/** The error of a call that took longer than it may. */
export function deadlineError(action: string, timeoutMs: number, outcomeUnknown: boolean): KubeError {
  const message = `cannot ${action}: no answer within ${timeoutMs / 1000} s`;
  return new KubeError("Timeout", message + (outcomeUnknown ? OUTCOME_UNKNOWN : ""));
}

/** The error of an answer that is not read to its end. A write was then carried out, or not. */
export function tooLargeError(action: string, server: string, limit: number, outcomeUnknown: boolean): KubeError {
  const message = `cannot ${action}: the answer of ${server} is larger than ${limitText(limit)}`;
  return new KubeError("TooLarge", message + (outcomeUnknown ? OUTCOME_UNKNOWN : ""));
}

/** The error of one change in a watch that is not read to its end. */
export function changeTooLargeError(action: string, server: string): KubeError {
  const message = `cannot ${action}: ${server} sent a change of more than ${limitText(LARGEST_OBJECT)}`;
  return new KubeError("TooLarge", message);
}

function limitText(limit: number): string {
  const what = limit === LARGEST_PAGE ? "a page of a list" : "one object";
  return `${sizeText(limit)}, the limit for ${what}: check what answers at this address`;
}

/** The error of a write that was answered, but not in a way that says whether it was carried out. */
export function withUnknownOutcome(error: KubeError): KubeError {
  return new KubeError(error.code, error.message + OUTCOME_UNKNOWN, { cause: error.cause });
}

function codeOf(status: number, reason: string | undefined): KubeErrorCode {
  if (status === 409 && reason === "AlreadyExists") return "AlreadyExists";
  return CODE_OF_STATUS[status] ?? (status >= 500 ? "ServerError" : "BadRequest");
}

/** Whether it is a Status whose parts, where it has them, are what they should be. */
export function isStatus(value: unknown): value is Status {
  const { kind, code, reason, message, details } = Object(value) as Readonly<Record<string, unknown>>;
  if (kind !== "Status") return false;
  if (code !== undefined && typeof code !== "number") return false;
  if ([reason, message].some((text) => text !== undefined && typeof text !== "string")) return false;
  return details === undefined || isDetails(details);
}

function isDetails(value: unknown): boolean {
  const { name, causes, retryAfterSeconds } = Object(value) as Readonly<Record<string, unknown>>;
  if (name !== undefined && typeof name !== "string") return false;
  if (retryAfterSeconds !== undefined && typeof retryAfterSeconds !== "number") return false;
  return causes === undefined || (Array.isArray(causes) && causes.every((cause) => Object(cause) === cause));
}

function parseStatus(body: string): Status | undefined {
  try {
    const parsed = parseJson(body);
    return isStatus(parsed) ? parsed : undefined;
  } catch {
    return undefined; // a proxy's HTML page or nothing: there is no Status to read
  }
}

/** Retry-After is seconds or a date; the API server sends seconds. */
function retryAfterSeconds(header: string | undefined): number | undefined {
  if (header === undefined || header === "") return undefined;
  const seconds = Number.isNaN(Number(header)) ? (Date.parse(header) - Date.now()) / 1000 : Number(header);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause instanceof AggregateError ? cause.errors[0] : undefined;
  return cause.message || (inner instanceof Error ? inner.message : cause.name);
}
