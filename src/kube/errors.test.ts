import { describe, expect, it } from "vitest";
import { connectionError, deadlineError, responseError } from "./errors.ts";

const QUESTION = {
  action: 'update IPPool "a"',
  method: "PUT",
  path: "/apis/projectcalico.org/v3/ippools/a?fieldManager=x",
  server: "https://10.0.0.1",
} as const;
const failed = (status: number, body: unknown, retryAfter?: string) =>
  responseError(QUESTION, {
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    retryAfter,
  });
const status = (reason: string, message: string, details?: object) => ({ kind: "Status", reason, message, details });

describe("responseError", () => {
  it.each([
    [400, "BadRequest", "BadRequest"],
    [401, "Unauthorized", "Unauthorized"],
    [403, "Forbidden", "Forbidden"],
    [404, "NotFound", "NotFound"],
    [405, "MethodNotAllowed", "BadRequest"],
    [409, "AlreadyExists", "AlreadyExists"],
    [409, "Conflict", "Conflict"],
    [410, "Expired", "Expired"],
    [410, "Gone", "Expired"],
    [415, "UnsupportedMediaType", "UnsupportedMediaType"],
    [422, "Invalid", "Invalid"],
    [429, "TooManyRequests", "TooManyRequests"],
    [500, "InternalError", "ServerError"],
    [503, "ServiceUnavailable", "ServerError"],
    [504, "Timeout", "ServerError"],
  ])("F12: %i %s is %s", (code, reason, expected) => {
    expect(failed(code, status(reason, "why"))).toMatchObject({
      code: expected,
      status: code,
      reason,
      message: 'cannot update IPPool "a": why',
    });
  });

  it("F12: keeps the causes of a 422", () => {
    const causes = [{ field: "spec.cidr", message: "must be masked", reason: "FieldValueInvalid" }];
    expect(failed(422, status("Invalid", "no", { causes })).details?.causes).toEqual(causes);
  });

  it("reads Retry-After as seconds, as a date, and from the details", () => {
    expect(failed(429, status("TooManyRequests", "slow"), "7").retryAfterSeconds).toBe(7);
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    expect(failed(503, "", inAnHour).retryAfterSeconds).toBeGreaterThan(3590);
    expect(failed(500, status("ServerTimeout", "slow", { retryAfterSeconds: 2 })).retryAfterSeconds).toBe(2);
    expect(failed(503, "", "soon").retryAfterSeconds).toBeUndefined();
  });

  it("does not quote a body that is not a Status", () => {
    const error = failed(502, "<html>Authorization: Bearer s3cret</html>");
    const what = "https://10.0.0.1 answered 502 to PUT /apis/projectcalico.org/v3/ippools/a without saying why";
    expect(error.message).toBe(`cannot update IPPool "a": ${what}`);
  });

  it.each([
    [status("NotFound", "no such pool"), "NotFound"],
    ["404 page not found\n", "NotFound"],
    ["<html>nginx</html>", "ServerError"],
    ["", "ServerError"],
    ['{"kind":"Status","reason":7}', "ServerError"],
  ])("only the API server itself says that something does not exist: %j", (body, code) => {
    expect(failed(404, body)).toMatchObject({ code, status: 404 });
  });

  it("keeps messages short", () => {
    expect(failed(422, status("Invalid", "x".repeat(5000))).message.length).toBeLessThan(1100);
  });
});

describe("errors without an answer", () => {
  it("says whether the outcome of a write is unknown", () => {
    const error = connectionError("get nodes", "https://10.0.0.1", new Error("socket hang up"), false);
    expect(error).toMatchObject({ code: "Unavailable", status: 0 });
    expect(error.message).toBe("cannot get nodes: no answer from https://10.0.0.1 (socket hang up)");
    const timeout = new DOMException("the deadline", "TimeoutError");
    expect(connectionError("get nodes", "s", timeout, false).message).toBe(
      "cannot get nodes: no answer from s (the deadline)",
    );
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    expect(connectionError("get nodes", "https://10.0.0.1", refused, false).message).toBe(
      "https://10.0.0.1 refuses the connection: check that the address is right and that the API server runs. Cannot get nodes",
    );
    expect(connectionError("create x", "s", new Error("reset"), true).message).toContain("outcome is unknown");
    expect(deadlineError("create x", 1500, true).message).toContain("no answer within 1.5 s; the outcome is unknown");
    expect(deadlineError("get x", 1500, false).message).toBe("cannot get x: no answer within 1.5 s");
  });

  it("takes the first of several failures, as a name with two addresses has", () => {
    const both = new AggregateError([new Error("connect ECONNREFUSED ::1:1"), new Error("other")]);
    expect(connectionError("get x", "s", both, false).message).toContain("(connect ECONNREFUSED ::1:1)");
  });
});
