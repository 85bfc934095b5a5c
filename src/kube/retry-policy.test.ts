import { describe, expect, it } from "vitest";
import { mayRepeat, pauseMs, type Repeat } from "./retry-policy.ts";
import { KubeError, type KubeErrorCode } from "./types.ts";

const failure = (code: KubeErrorCode, status = 0, retryAfterSeconds?: number) =>
  new KubeError(code, "failed", { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) });

const refused = failure("Unavailable");
const table: readonly (readonly [string, KubeError, boolean, Record<Repeat, boolean>])[] = [
  ["429", failure("TooManyRequests", 429), false, { read: true, write: true, create: true }],
  ["429 with Retry-After", failure("TooManyRequests", 429, 1), false, { read: true, write: true, create: true }],
  ["500", failure("ServerError", 500), false, { read: true, write: false, create: false }],
  ["502", failure("ServerError", 502, 1), false, { read: true, write: false, create: false }],
  ["503", failure("ServerError", 503), false, { read: true, write: false, create: false }],
  ["503 with Retry-After", failure("ServerError", 503, 1), false, { read: true, write: true, create: false }],
  ["no connection", refused, true, { read: true, write: true, create: true }],
  ["reset, outcome unknown", refused, false, { read: true, write: false, create: false }],
  ["400", failure("BadRequest", 400), false, { read: false, write: false, create: false }],
  ["401", failure("Unauthorized", 401), false, { read: false, write: false, create: false }],
  ["403", failure("Forbidden", 403), false, { read: false, write: false, create: false }],
  ["404", failure("NotFound", 404), false, { read: false, write: false, create: false }],
  ["409", failure("Conflict", 409), false, { read: false, write: false, create: false }],
  ["410", failure("Expired", 410), false, { read: false, write: false, create: false }],
  ["422", failure("Invalid", 422), false, { read: false, write: false, create: false }],
];

describe("mayRepeat", () => {
  it.each(table)("%s", (_name, error, notSent, expected) => {
    const answer = (repeat: Repeat) => mayRepeat(repeat, error, notSent, 1);
    expect({ read: answer("read"), write: answer("write"), create: answer("create") }).toEqual(expected);
  });

  it("gives up after six attempts", () => {
    expect(mayRepeat("read", failure("ServerError", 500), false, 5)).toBe(true);
    expect(mayRepeat("read", failure("ServerError", 500), false, 6)).toBe(false);
  });
});

describe("pauseMs", () => {
  it("waits at least as long as the server asks for", () => {
    expect(pauseMs(failure("TooManyRequests", 429, 3), 1, () => 0)).toBe(3000);
    expect(pauseMs(failure("TooManyRequests", 429, 3), 1, () => 0.999)).toBeGreaterThan(3000);
  });

  it("doubles otherwise, half of it jitter", () => {
    const pauses = [1, 2, 3].map((attempt) => pauseMs(refused, attempt, () => 0));
    expect(pauses).toEqual([50, 100, 200]);
    expect(pauseMs(refused, 3, () => 1)).toBe(400);
    expect(pauseMs(refused, 30, () => 1)).toBe(5000);
  });
});
