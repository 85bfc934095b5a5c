import { expect, test } from "vitest";
import { KubeError } from "../../kube/types.ts";
import { leaseAdvice, leaseMissing } from "./lease-advice.ts";

test.each([
  ["a missing namespace", new KubeError("NotFound", 'namespaces "ipam-operator" not found')],
  ["a missing role", new KubeError("Forbidden", "leases.coordination.k8s.io is forbidden")],
])("%s: apply the operator's manifest, or name another namespace", (_, error) => {
  expect(leaseAdvice(error)).toMatch(/rbac\/operator\.yaml.*--namespace/);
  expect(leaseMissing(error)).toMatch(new RegExp(`nor read yet: ${error.message}.*operator\\.yaml.*--namespace`));
});

test.each([
  ["a deleted lease", new KubeError("NotFound", 'leases.coordination.k8s.io "ipam-operator" not found')],
  ["no answer", new KubeError("Unavailable", "connection refused")],
])("%s needs nobody's help", (_, error) => {
  expect(leaseAdvice(error)).toBeUndefined();
  expect(leaseMissing(error)).toBe(`the lease has neither been written nor read yet: ${error.message}`);
});

test("before the first answer there is nothing to add", () => {
  expect(leaseMissing(undefined)).toBe("the lease has neither been written nor read yet");
});
