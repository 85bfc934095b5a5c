import { describe, expect, test } from "vitest";
import { createLogger, errorText, type LogEncoding } from "./log.ts";

function capture(encoding: LogEncoding, level: "info" | "debug" = "info") {
  const lines: string[] = [];
  return { lines, log: createLogger({ level, encoding, sink: { write: (line) => lines.push(line) } }) };
}

describe("the log", () => {
  test("has controller-runtime's keys and the level as text", () => {
    const { lines, log } = capture("json");
    log.child({ controller: "installation", name: "default", reconcileID: "1" }).info("done");
    const line = JSON.parse(lines[0]!);
    expect(Object.keys(line)).toEqual(["level", "ts", "controller", "name", "reconcileID", "msg"]);
    expect(line).toMatchObject({ level: "info", msg: "done", controller: "installation" });
    expect(new Date(line.ts).toISOString()).toBe(line.ts);
  });

  test("writes errors as text, causes included, once", () => {
    const { lines, log } = capture("json");
    log.error({ error: new Error("cannot write", { cause: new Error("connection refused") }) }, "failed");
    expect(JSON.parse(lines[0]!).error).toBe("cannot write: connection refused");
    log.warn({ err: new Error("lost") }, "pino's own key");
    expect(JSON.parse(lines[1]!)).toMatchObject({ error: "lost" });
    expect(errorText(new Error("x: y", { cause: new Error("y") }))).toBe("x: y");
  });

  test("never shows credentials, wherever they stand", () => {
    const { lines, log } = capture("json");
    log.info({ token: "s3cret", call: { headers: { authorization: "s3cret" }, token: "s3cret" } }, "call");
    log.warn({ error: new Error("GET https://me:s3cret@10.0.0.1/api: Bearer s3cret refused") }, "Bearer s3cret");
    expect(lines.join("")).not.toContain("s3cret");
    expect(lines[1]).toContain("https://[redacted]@10.0.0.1/api");
    expect(() => lines.map((line) => JSON.parse(line))).not.toThrow();
  });

  test("text is one short line without machine keys", () => {
    const { lines, log } = capture("text");
    log.info({ controllerGroup: "g", reconcileID: "1", name: "default" }, "configuration written");
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}info {2}configuration written {2}name=default\n$/);
  });

  test("leaves out what is below its level", () => {
    const { lines, log } = capture("json");
    log.debug("quiet");
    expect(lines).toEqual([]);
  });
});
