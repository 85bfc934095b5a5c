/** The RBAC reconciler on a real API server, as the operator's own ServiceAccount with the generated manifests only. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ClusterRoleBinding } from "../rbac/objects.ts";
import { GRANTED_ROLES } from "../rbac/permissions.ts";
import { denied, OPERATOR_USER } from "../test/support/audit.ts";
import {
  BINDING,
  CNI,
  type RbacCluster,
  ROLE,
  startRbacCluster,
  VIEWER,
  VIEWERS_ONLY,
} from "../test/support/rbac-cluster.ts";
import { RBAC_SELECTOR } from "./rbac.ts";

const OPERATOR = "ipam-operator:operator";
const MANAGED_BY = "app.kubernetes.io/managed-by";
const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to";
const ALL_ROLES = [...GRANTED_ROLES.map((role) => `ipam-operator:${role}`), OPERATOR].sort();
const CNI_SUBJECTS = [{ kind: "ServiceAccount", namespace: "kube-system", name: "cni" }];

let cluster: RbacCluster;
beforeAll(async () => {
  cluster = await startRbacCluster();
});
afterAll(() => cluster?.stop());

const edit = (type: typeof ROLE | typeof BINDING, name: string, change: object) =>
  cluster.admin.patch(type, name, change, { type: "merge" });

describe("kubectl apply -f rbac/", () => {
  it("sets up every role, and repeats without a change", async () => {
    expect(await cluster.names("clusterroles")).toEqual(ALL_ROLES);
    expect(await cluster.controlPlane.kubectlOk(["apply", "-f", "rbac/"])).not.toMatch(/created|configured/);
  });

  it("leaves the reconciler nothing to do where both groups are served and nobody is named", async () => {
    const before = await cluster.revisions();
    expect(await cluster.reconcile({ subjects: new Map() })).toEqual({ result: {}, events: [] });
    expect(await cluster.revisions()).toBe(before);
  });
});

describe("the RBAC reconciler", () => {
  beforeEach(async () => {
    await cluster.reconcile();
  });
  afterEach(async () => {
    expect(denied(await cluster.controlPlane.auditLog(), OPERATOR_USER)).toEqual([]);
  });

  it("creates every role, and a binding for each role that somebody is to have", async () => {
    const others = `${RBAC_SELECTOR},app.kubernetes.io/component!=operator`;
    await cluster.controlPlane.kubectlOk(["delete", "clusterroles,clusterrolebindings", "-l", others]);
    const { events } = await cluster.reconcile();
    expect(await cluster.names("clusterroles")).toEqual(ALL_ROLES);
    expect(await cluster.names("clusterrolebindings")).toEqual([CNI, OPERATOR, VIEWER]);
    expect((await cluster.binding()).subjects).toEqual(CNI_SUBJECTS);
    expect(events).toHaveLength(7);
    expect(events).toContain(`RbacRestored: ClusterRole ${CNI} was missing; it was created.`);
  });

  it("writes nothing when all is as it should be", async () => {
    const before = await cluster.revisions();
    expect(await cluster.reconcile()).toEqual({ result: {}, events: [] });
    expect(await cluster.revisions()).toBe(before);
  });

  it("restores an edited role, says what was different, and keeps the labels of others", async () => {
    const { rules } = await cluster.role();
    const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
    const labels = { "app.kubernetes.io/component": "x", team: "network" };
    await edit(ROLE, CNI, { metadata: { labels }, rules: [...rules!.slice(1), secrets] });
    const { events } = await cluster.reconcile();
    const restored = await cluster.role();
    expect(restored.rules).toEqual(rules);
    expect(restored.metadata.labels).toMatchObject({ "app.kubernetes.io/component": "cni-plugin", team: "network" });
    expect(events).toEqual([
      expect.stringMatching(
        /RbacRestored: ClusterRole ipam-operator:cni-plugin .*component was "x"; lacked the permissions get .*; also had the permissions get secrets; it was restored\./,
      ),
    ]);
  });

  it("takes a role out of aggregation again, by label and by rule", async () => {
    await edit(ROLE, CNI, { metadata: { labels: { [`${AGGREGATE}-admin`]: "true" } } });
    await edit(ROLE, VIEWER, { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { x: "y" } }] } });
    const { events } = await cluster.reconcile();
    expect((await cluster.role()).metadata.labels).not.toHaveProperty([`${AGGREGATE}-admin`]);
    const viewer = await cluster.role(VIEWER);
    expect(viewer).not.toHaveProperty("aggregationRule");
    expect(viewer.metadata.labels).toHaveProperty([`${AGGREGATE}-view`], "true");
    expect(events.join()).toMatch(/had an aggregation rule; it was recreated/);
  });

  it("restores the subjects of a binding", async () => {
    const mallory = { kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" };
    await edit(BINDING, CNI, { subjects: [mallory] });
    const { events } = await cluster.reconcile();
    expect((await cluster.binding()).subjects).toEqual(CNI_SUBJECTS);
    expect(events.join()).toMatch(/also had the subjects User mallory/);
  });

  it("makes a binding anew that is bound to another role", async () => {
    const { metadata, ...rest } = await cluster.binding();
    const wrong = { ...rest, metadata: { name: CNI, labels: metadata.labels! } };
    await cluster.admin.delete(BINDING, CNI);
    const roleRef = { ...rest.roleRef, name: "cluster-admin" };
    await cluster.admin.create<ClusterRoleBinding>(BINDING, { ...wrong, roleRef });
    const { events } = await cluster.reconcile();
    expect((await cluster.binding()).roleRef.name).toBe(CNI);
    expect(events.join()).toMatch(/bound ClusterRole cluster-admin instead of ClusterRole ipam-operator:cni-plugin/);
  });

  it("deletes a binding that is no longer asked for, and only that", async () => {
    const { events } = await cluster.reconcile({ subjects: VIEWERS_ONLY });
    expect(await cluster.names("clusterrolebindings")).toEqual([OPERATOR, VIEWER]);
    expect(events).toEqual([
      `RbacRemoved: ClusterRoleBinding ${CNI} was deleted: the subjects file grants this role to no subject.`,
    ]);
  });

  it("grants only on the groups that are served, and on a group that comes later", async () => {
    const groups = async () => new Set((await cluster.role()).rules!.flatMap(({ apiGroups }) => apiGroups));
    const always = ["", "migration.projectcalico.org"];
    await cluster.reconcile({ served: ["v1"] });
    expect(await groups()).toEqual(new Set([...always, "crd.projectcalico.org"]));
    await cluster.reconcile({ served: ["v3"] });
    expect(await groups()).toEqual(new Set([...always, "projectcalico.org"]));
    await cluster.reconcile();
    expect(await groups()).toEqual(new Set([...always, "crd.projectcalico.org", "projectcalico.org"]));
  });

  it.each([
    ["Paused", []],
    [
      "Observe",
      [
        expect.stringMatching(/^RbacDiffers: ClusterRole ipam-operator:cni-plugin lacked .*; it would be restored\. /),
        expect.stringMatching(/^RbacDiffers: ClusterRoleBinding ipam-operator:viewer would be deleted: /),
      ],
    ],
  ] as const)("writes nothing while the policy is %s", async (policy, expected) => {
    await edit(ROLE, CNI, { rules: [] });
    await cluster.admin.delete(BINDING, CNI);
    const before = await cluster.revisions();
    const { events } = await cluster.reconcile({ policy, subjects: new Map() });
    expect(await cluster.revisions()).toBe(before);
    expect(events).toEqual(expected);
  });

  it("keeps the roles where there is no Installation", async () => {
    await cluster.admin.delete(ROLE, CNI);
    await cluster.reconcile({ policy: "no Installation" });
    expect((await cluster.role()).rules).not.toEqual([]);
  });

  it("tells by its watch when an object of ours is edited, deleted, or loses the label", async () => {
    const selection = { labelSelector: RBAC_SELECTOR, metadataOnly: true };
    const { resourceVersion } = await cluster.operator.list(ROLE, selection);
    await edit(ROLE, VIEWER, { metadata: { annotations: { a: crypto.randomUUID() } } });
    await edit(ROLE, VIEWER, { metadata: { labels: { [MANAGED_BY]: null } } });
    await cluster.admin.delete(ROLE, CNI);
    const seen: string[] = [];
    const { signal } = new AbortController();
    for await (const event of cluster.operator.watch(ROLE, { ...selection, resourceVersion, signal })) {
      if (event.type !== "BOOKMARK") seen.push(`${event.type} ${event.object.metadata.name}`);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([`MODIFIED ${VIEWER}`, `DELETED ${VIEWER}`, `DELETED ${CNI}`]);
    await cluster.admin.delete(ROLE, VIEWER);
  });
});
