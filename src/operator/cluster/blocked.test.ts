import { expect, test } from "vitest";
import { installationResource, resources } from "../../api/resources.ts";
import { DatastoreError } from "../../datastore/datastore.ts";
import { KubeError } from "../../kube/types.ts";
import { blockedBy, groupGone, notInstalled } from "./blocked.ts";

const nodes = { group: "", version: "v1", plural: "nodes", kind: "Node" };

test.each([
  [
    "a refused list",
    new KubeError("Forbidden", "nodes is forbidden"),
    nodes,
    "Forbidden",
    /list and watch nodes .*rbac\/operator\.yaml/,
  ],
  [
    "refused credentials",
    new KubeError("Unauthorized", "token expired"),
    undefined,
    "Forbidden",
    /does not accept the operator's credentials \(401\): token expired\. Renew/,
  ],
  [
    "no answer",
    new KubeError("Unavailable", "connection refused"),
    nodes,
    "Unavailable",
    /connection refused.*tried again/,
  ],
  [
    "no API group",
    new DatastoreError("NotServed", "IPAMConfiguration", "", "install the CRDs of one group"),
    undefined,
    "APINotInstalled",
    /^install the CRDs of one group$/,
  ],
])("%s says what to do", (_, error, type, reason, message) => {
  expect(blockedBy(error, type)).toEqual({ reason, message: expect.stringMatching(message) });
});

test("a missing kind names the file to apply", () => {
  expect(notInstalled(installationResource).message).toBe(
    "ipaminstallations.ipam-operator.io is not installed. Install it: " +
      "kubectl apply --server-side -f crds/ipam-operator.io_ipaminstallations.yaml",
  );
  expect(notInstalled(resources.IPAMConfiguration.v3).message).toMatch(/crds\/v3\/ \(.*, or install Calico's own$/);
});

test.each([
  ["discovery", "Discovery: the only one", /any more; projectcalico\.org\/v3 is\. The operator changes over/],
  ["flag", "Flag: --datastore v1", /set by hand \(Flag: --datastore v1\).*start the operator without that setting/],
] as const)(
  "TRY-10: a group that is gone while the other is there is not to be installed again: %s",
  (by, chosenBy, says) => {
    const { reason, message } = groupGone(resources.IPAMConfiguration.v1, "projectcalico.org/v3", { by, chosenBy });
    expect([reason, message]).toEqual(["APINotInstalled", expect.stringMatching(says)]);
    expect(message).not.toMatch(/crds\/|[Ii]nstall/);
  },
);
