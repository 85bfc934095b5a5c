import pino from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import type { Installation } from "../../src/api/installation.ts";
import { KubeError } from "../../src/kube/types.ts";
import { createReporter, type Outcome, type Reporter } from "./report.ts";

const installation: Installation = {
  apiVersion: "ipam-operator.io/v1alpha1",
  kind: "Installation",
  metadata: { name: "default", uid: "1" },
  spec: { managementPolicy: "Enforce" },
};
const of = { kind: "ClusterRole", name: "ipam-operator:viewer" } as const;
const mended: Outcome = { ...of, is: "mended", action: "update", because: "also had the permissions get secrets" };
const left: Outcome = { ...of, is: "left", because: "is not this operator's." };
const held: Outcome = { ...of, is: "held", because: "is to be deleted." };
const forbidden = new KubeError("Forbidden", `cannot create resource "clusterroles" ${"x".repeat(2000)}`, {
  status: 403,
});

let told: string[];
let logged: string[];
let report: Reporter;
beforeEach(() => {
  told = [];
  logged = [];
  report = createReporter({ event: (_regarding, type, reason, note) => told.push(`${type} ${reason} ${note}`) });
});
const log = pino({ base: null, timestamp: false }, { write: (line: string) => logged.push(JSON.parse(line).msg) });

describe("report", () => {
  it("says what was different and what was done", () => {
    report(mended, installation, log);
    report({ ...of, is: "mended", action: "create", because: "was missing" }, installation, log);
    report(
      { ...of, is: "mended", action: "delete", because: "the subjects file grants this role to no subject" },
      installation,
      log,
    );
    expect(told).toEqual([
      "Normal RbacRestored ClusterRole ipam-operator:viewer also had the permissions get secrets; it was restored.",
      "Normal RbacRestored ClusterRole ipam-operator:viewer was missing; it was created.",
      "Normal RbacRemoved ClusterRole ipam-operator:viewer was deleted: the subjects file grants this role to no subject.",
    ]);
    expect(logged).toHaveLength(3);
  });

  it("tells the same repair again each time, because it was broken again each time", () => {
    report(mended, installation, log);
    report({ ...of, is: "right" }, installation, log);
    report(mended, installation, log);
    report(mended, installation, log);
    expect(told).toHaveLength(3);
  });

  it.each([
    [left, "Warning RbacNotOurs ClusterRole ipam-operator:viewer is not this operator's."],
    [held, "Warning RbacHeld ClusterRole ipam-operator:viewer is to be deleted."],
  ])("tells a state that lasts once, and again after it was over", (outcome, words) => {
    report(outcome, installation, log);
    report(outcome, installation, log);
    expect(told).toEqual([words]);
    expect(logged).toHaveLength(1);
    report({ ...of, is: "right" }, installation, log);
    report(outcome, installation, log);
    expect(told).toHaveLength(2);
  });

  it("does not tell it again after an interruption", () => {
    for (const outcome of [left, { ...of, is: "failed", error: new KubeError("Unavailable", "gone") } as const, left]) {
      report(outcome, installation, log);
    }
    expect(told).toHaveLength(1);
  });

  it("repeats what was only logged once there is an Installation to tell it on", () => {
    report(left, undefined, log);
    expect([told.length, logged.length]).toEqual([0, 1]);
    report(left, installation, log);
    expect(told).toHaveLength(1);
  });

  it("says with Observe what would be done", () => {
    report({ ...of, is: "different", action: "create", because: "was missing" }, installation, log);
    expect(told[0]).toMatch(/^Normal RbacDiffers .* was missing; it would be created\. .*Observe/);
  });

  it("names a missing permission within what an event holds, and leaves other failures to the manager", () => {
    report({ ...of, is: "failed", error: forbidden }, installation, log);
    report({ ...of, name: "other", is: "failed", error: new KubeError("Unavailable", "gone") }, installation, log);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/Warning RbacForbidden .*rbac\/operator\.yaml.*cannot create resource "clusterroles"/);
    expect(told[0]!.length).toBeLessThan(1024);
  });
});
