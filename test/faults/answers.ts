/** What an API server says when it refuses, in its own form (a v1 Status). */

/** A whole HTTP answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The connection is reset after the body, although more was announced. */
  readonly isCut?: boolean;
}

export interface AnswerOptions {
  readonly status: number;
  /** Default: a Status as the API server sends it. A string goes out as it is, as text (a load balancer's page). */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

const json = { "content-type": "application/json" };

export function failureAnswer({ status, body, headers = {} }: AnswerOptions): Answer {
  if (typeof body === "string") return { status, headers: { "content-type": "text/plain", ...headers }, body };
  return { status, headers: { ...json, ...headers }, body: JSON.stringify(body ?? statusObject(status)) };
}

/** A watch refused because its resourceVersion is too old. */
export const expiredAnswer: Answer = failureAnswer({ status: 410 });

/** The same, said inside an accepted watch: its only event, then the end. */
export const expiredEvent: Answer = {
  status: 200,
  headers: json,
  body: `${JSON.stringify({ type: "ERROR", object: statusObject(410) })}\n`,
};

function statusObject(code: number) {
  const reason = reasons[code] ?? "Unknown";
  const message = code === 410 ? "too old resource version: 1 (2)" : `scripted fault: ${reason}`;
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}
