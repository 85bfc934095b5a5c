import { describe, expect, it, vi } from "vitest";
import { DatastoreError } from "../datastore/datastore.ts";
import { MAX_ATTEMPTS, retryLostRaces } from "./retry.ts";

const conflict = () => new DatastoreError("Conflict", "IPAMBlock", "10-0-0-0-26", "someone wrote in between");
const losing = (times: number) => {
  let left = times;
  return vi.fn(async () => {
    if (left-- > 0) throw conflict();
    return "won";
  });
};
const noPause = async () => undefined;

describe("retryLostRaces", () => {
  it("wins at the last attempt, pausing only after the first few", async () => {
    const attempt = losing(MAX_ATTEMPTS - 1);
    const pauses: number[] = [];
    const pause = async (milliseconds: number) => pauses.push(milliseconds);
    expect(await retryLostRaces(attempt, { what: "testing", pause })).toBe("won");
    expect(attempt).toHaveBeenCalledTimes(MAX_ATTEMPTS);
    expect(pauses).toHaveLength(MAX_ATTEMPTS - 3);
    expect(Math.max(...pauses)).toBeLessThan(50);
  });

  it("ends with MaxRetries, saying what was being done, and never a bare conflict", async () => {
    const attempt = losing(Number.POSITIVE_INFINITY);
    await expect(retryLostRaces(attempt, { what: "writing X", pause: noPause })).rejects.toMatchObject({
      code: "MaxRetries",
      message: "Max retries hit - excessive concurrent IPAM requests",
      details: [expect.stringContaining("writing X")],
      cause: expect.any(DatastoreError),
    });
    expect(attempt).toHaveBeenCalledTimes(MAX_ATTEMPTS);
  });

  it("lets every other error leave at once, as it is", async () => {
    const error = new DatastoreError("Unavailable", "IPAMBlock", "b", "no answer");
    const attempt = vi.fn().mockRejectedValue(error);
    await expect(retryLostRaces(attempt, { what: "testing" })).rejects.toBe(error);
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  it("is cancelled with the signal's reason, also while pausing", async () => {
    const controller = new AbortController();
    const reason = new Error("stopping");
    const attempt = vi.fn(async () => {
      if (attempt.mock.calls.length === 4) setImmediate(() => controller.abort(reason));
      throw conflict();
    });
    await expect(retryLostRaces(attempt, { what: "testing", signal: controller.signal })).rejects.toBe(reason);
    await expect(retryLostRaces(attempt, { what: "testing", signal: controller.signal })).rejects.toBe(reason);
  });
});
