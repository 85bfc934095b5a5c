import { expect, test } from "vitest";
import { createLogger } from "../log.ts";
import { loggedEvents } from "./logged-events.ts";

const installation = { apiVersion: "ipam-operator.io/v1alpha1", kind: "Installation", metadata: { name: "default" } };

test.each([
  ["Warning", "Drift", [{ level: "warn", reason: "Drift", name: "default", msg: "put back" }]],
  ["Normal", "Configured", [{ level: "info", reason: "Configured", name: "default", msg: "put back" }]],
  ["Warning", "InvalidSpec", []], // the reconciler's own line
  ["Normal", "Succeeded", []],
] as const)("a %s event %s is recorded, and its line is %j", (type, reason, expected) => {
  const lines: unknown[] = [];
  const recorded: unknown[][] = [];
  const log = createLogger({
    level: "info",
    encoding: "json",
    sink: { write: (line) => lines.push(JSON.parse(line)) },
  });
  const recorder = { event: (...event: unknown[]) => recorded.push(event) };
  loggedEvents(recorder, log).event(installation, type, reason, "put back", "Reconcile");
  expect(recorded).toEqual([[installation, type, reason, "put back", "Reconcile"]]);
  expect(lines).toEqual(expected.map((line) => expect.objectContaining(line)));
});
