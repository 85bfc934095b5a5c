import { describe, expect, it } from "vitest";
import { permissions, ROLES, type Role } from "../../rbac/permissions.ts";
import { expand } from "../../rbac/rules.ts";
import type { AuditEvent } from "../control-plane/control-plane.ts";
import { denied, permissionText, unusedGrants, usageOf, used } from "./audit.ts";

/** A logged request in the fields that matter here. */
const request = (
  username: string,
  verb: string,
  objectRef: AuditEvent["objectRef"],
  code = 200,
  decision = "allow",
): AuditEvent => ({
  auditID: "a",
  verb,
  requestURI: "/",
  user: { username },
  ...(objectRef && { objectRef }),
  responseStatus: { code },
  annotations: { "authorization.k8s.io/decision": decision },
  requestReceivedTimestamp: "",
  stageTimestamp: "",
});
const block = { apiGroup: "projectcalico.org", resource: "ipamblocks", name: "b" };
const status = { apiGroup: "ipam-operator.io", resource: "ipaminstallations", subresource: "status", name: "default" };
const log = [
  request("op", "get", block),
  request("op", "get", block, 404),
  request("op", "update", status),
  request("op", "list", { resource: "nodes" }, 403, "forbid"),
  request("op", "list", { resource: "nodes" }, 403, "forbid"),
  request("op", "create", { apiGroup: "rbac.authorization.k8s.io", resource: "clusterroles", name: "r" }, 403),
  request("op", "get", undefined),
  request("jane", "delete", block, 403, "forbid"),
];

/** A usage with every permission the table grants a role itself. */
const everything = (): Map<Role, Set<string>> =>
  new Map(
    ROLES.map((role) => {
      const held = permissions[role].flatMap((grant) => expand(grant));
      return [role, new Set(held.map(({ verb, group, resource }) => permissionText(verb, group, resource)))];
    }),
  );

describe("audit", () => {
  it("lists what was denied to one user, once, refused escalation included", () => {
    expect(denied(log, "op")).toEqual(["create clusterroles.rbac.authorization.k8s.io r", "list nodes"]);
    expect(denied(log, "jane")).toEqual(["delete ipamblocks.projectcalico.org b"]);
    expect(denied(log, "nobody")).toEqual([]);
  });

  it("lists what was used, whatever came of it, and not what was denied", () => {
    expect([...used(log, "op")]).toEqual([
      "get ipamblocks.projectcalico.org",
      "update ipaminstallations/status.ipam-operator.io",
    ]);
    expect(usageOf(log, { op: "operator", jane: "viewer" }).get("viewer")).toBeUndefined();
  });

  it("names each verb on our kinds that its role never used", () => {
    const usage = everything();
    expect(unusedGrants(usage)).toEqual([]);
    usage.get("operator")!.delete("update ipaminstallations/status.ipam-operator.io");
    usage.get("viewer")!.delete("watch ipamhandles.crd.projectcalico.org");
    usage.get("controllers")!.delete("get nodes");
    expect(unusedGrants(usage)).toEqual([
      "operator: update ipaminstallations/status.ipam-operator.io",
      "viewer: watch ipamhandles.crd.projectcalico.org",
    ]);
  });

  it("does not ask the operator to use what it holds only to grant it", () => {
    const usage = everything();
    expect([...usage.get("operator")!]).not.toContain("delete ipamblocks.projectcalico.org");
    expect(unusedGrants(new Map([...usage].filter(([role]) => role === "operator")))).not.toContainEqual(
      expect.stringMatching(/^operator:/),
    );
  });
});
