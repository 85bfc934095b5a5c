/** The RBAC reconciler on a real API server, as the operator's own ServiceAccount with the generated manifests only. */
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ClusterRole, ClusterRoleBinding } from "../rbac/objects.ts";
import { GRANTED_ROLES } from "../rbac/permissions.ts";
import type { Generation } from "../rbac/rules.ts";
import { parseSubjects, type RoleSubjects } from "../rbac/subjects.ts";
import type { Installation, ManagementPolicy } from "../src/api/installation.ts";
import { createEventRecorder } from "../src/kube/events.ts";
import { connect } from "../src/kube/rest.ts";
import type { KubeClient } from "../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../test/control-plane/control-plane.ts";
import { denied, OPERATOR_USER } from "../test/support/audit.ts";
import { recordUsage } from "../test/support/audit-usage.ts";
import { createRbacReconciler, RBAC_KEY, RBAC_SELECTOR, RBAC_TYPES } from "./rbac.ts";

const { ClusterRole: ROLE, ClusterRoleBinding: BINDING } = RBAC_TYPES;
const CNI = "ipam-operator:cni-plugin";
const VIEWER = "ipam-operator:viewer";
const log = pino({ level: "silent" });
const given = parseSubjects(
  `
cni-plugin: [{kind: ServiceAccount, namespace: kube-system, name: cni}]
viewer: [{kind: Group, name: network}, {kind: User, name: jane}]
`,
  "the test",
);

let cluster: ControlPlane;
let admin: KubeClient;
let operator: KubeClient;
beforeAll(async () => {
  cluster = await startControlPlane();
  admin = await connect({ kubeconfig: cluster.kubeconfig });
});
afterAll(async () => {
  await recordUsage(cluster);
  await Promise.all([admin, operator].map((client) => client?.close()));
  await cluster.stop();
});

interface World {
  served: readonly Generation[];
  subjects: RoleSubjects;
  policy: ManagementPolicy | undefined;
  client: KubeClient;
}
/** One pass of a fresh operator; returns the events it wrote, `reason: note`. */
async function reconcile(world: Partial<World> = {}): Promise<string[]> {
  const { served = ["v1", "v3"], subjects = given, client = operator } = world;
  const installation = installationWith("policy" in world ? world.policy : "Enforce");
  const events = createEventRecorder({ client: operator, log, controller: "ipam-operator", instance: "test" });
  const options = { client, events, subjects, served: () => served, installation: () => installation };
  const reconciler = createRbacReconciler(options);
  const result = await reconciler.reconcile(RBAC_KEY, { signal: AbortSignal.timeout(20_000), log });
  await events.flush();
  lastResult = result;
  return installation ? eventsOn(installation.metadata.uid!) : [];
}
let lastResult: unknown;

/** A UID of its own each time tells the events of one pass from others. */
function installationWith(managementPolicy: ManagementPolicy | undefined): Installation | undefined {
  if (managementPolicy === undefined) return undefined;
  const metadata = { name: "default", uid: crypto.randomUUID() };
  return { apiVersion: "ipam-operator.io/v1alpha1", kind: "Installation", metadata, spec: { managementPolicy } };
}

async function eventsOn(uid: string): Promise<string[]> {
  const out = await cluster.kubectlOk(["get", "events.events.k8s.io", "-n", "default", "-o", "json"]);
  const items: { regarding: { uid: string }; reason: string; note: string }[] = JSON.parse(out).items;
  return items.filter(({ regarding }) => regarding.uid === uid).map(({ reason, note }) => `${reason}: ${note}`);
}

const role = (name = CNI): Promise<ClusterRole> => admin.get<ClusterRole>(ROLE, name);
const binding = (name = CNI): Promise<ClusterRoleBinding> => admin.get<ClusterRoleBinding>(BINDING, name);
/** Names and revisions of everything of ours: equal before and after means nothing was written. */
const revisions = () =>
  cluster.kubectlOk([
    "get",
    "clusterroles,clusterrolebindings",
    "-l",
    RBAC_SELECTOR,
    "-o",
    "name",
    "--show-managed-fields",
    "-o",
    "jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.resourceVersion} {end}",
  ]);
const names = async (kind: string): Promise<string[]> =>
  (await cluster.kubectlOk(["get", kind, "-l", RBAC_SELECTOR, "-o", "jsonpath={.items[*].metadata.name}"])).split(" ");

/** The operator's client, with someone else's write slipped in between its look at one object and its own write. */
const afterGet = (plural: string, name: string, slip: () => Promise<void>): KubeClient =>
  new Proxy(operator, {
    get: (target, property: keyof KubeClient) => {
      if (property !== "get")
        return typeof target[property] === "function" ? target[property].bind(target) : target[property];
      return async (...args: Parameters<KubeClient["get"]>) => {
        const found = await target.get(...args);
        if (args[0].plural === plural && args[1] === name) await slip();
        return found;
      };
    },
  });

/** Deletes the binding of the CNI plugin and makes it anew, bound to another role. */
async function rebind(name: string): Promise<void> {
  const { metadata, ...rest } = await binding();
  await admin.delete(BINDING, CNI);
  const roleRef = { ...rest.roleRef, name };
  await admin.create<ClusterRoleBinding>(BINDING, {
    ...rest,
    roleRef,
    metadata: { name: CNI, labels: metadata.labels! },
  });
}

describe("kubectl apply -f rbac/", () => {
  it("sets up everything the operator needs, and repeats without a change", async () => {
    await cluster.kubectlOk(["apply", "-f", "rbac/"]);
    expect(await cluster.kubectlOk(["apply", "-f", "rbac/"])).not.toMatch(/created|configured/);
    operator = await connect({
      kubeconfig: cluster.kubeconfigFor(await cluster.serviceAccountToken("ipam-operator", "ipam-operator")),
    });
    expect((await names("clusterroles")).sort()).toEqual(
      ["operator", ...GRANTED_ROLES].map((one) => `ipam-operator:${one}`).sort(),
    );
  });

  it("leaves the reconciler nothing to do where both groups are served and nobody is named", async () => {
    const before = await revisions();
    expect(await reconcile({ subjects: new Map() })).toEqual([]);
    expect(await revisions()).toBe(before);
  });
});

describe("the RBAC reconciler", () => {
  beforeEach(async () => {
    await reconcile();
  });
  // Whatever a test did, only what it provoked itself may have been denied.
  afterEach(async () => {
    expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
  });

  it("creates every role, and a binding for each role that somebody is to have", async () => {
    await cluster.kubectlOk([
      "delete",
      "clusterroles,clusterrolebindings",
      "-l",
      `${RBAC_SELECTOR},app.kubernetes.io/component!=operator`,
    ]);
    const events = await reconcile();
    expect((await names("clusterroles")).length).toBe(6);
    expect((await names("clusterrolebindings")).sort()).toEqual([CNI, "ipam-operator:operator", VIEWER]);
    expect((await binding()).subjects).toEqual([{ kind: "ServiceAccount", namespace: "kube-system", name: "cni" }]);
    expect(events).toContain(`RbacRestored: ClusterRole ${CNI} was missing; it was created.`);
    expect(events).toHaveLength(7);
  });

  it("writes nothing when all is as it should be", async () => {
    const before = await revisions();
    expect(await reconcile()).toEqual([]);
    expect(await revisions()).toBe(before);
    expect(lastResult).toEqual({});
  });

  it("restores an edited role, says what was different, and keeps the labels of others", async () => {
    const rules = [...(await role()).rules!.slice(1), { apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    const metadata = { labels: { "app.kubernetes.io/component": "x", team: "network" } };
    const wanted = (await role()).rules;
    await admin.patch(ROLE, CNI, { metadata, rules }, { type: "merge" });
    const events = await reconcile();
    expect((await role()).rules).toEqual(wanted);
    expect((await role()).metadata.labels).toMatchObject({
      "app.kubernetes.io/component": "cni-plugin",
      team: "network",
    });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(
      /RbacRestored: ClusterRole ipam-operator:cni-plugin .*component was "x"; lacked the permissions get .*; also had the permissions get secrets; it was put right\./,
    );
  });

  it("takes a role out of aggregation again, by label and by rule", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-admin": "true" };
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { x: "y" } }] };
    await admin.patch(ROLE, CNI, { metadata: { labels } }, { type: "merge" });
    await admin.patch(ROLE, VIEWER, { aggregationRule }, { type: "merge" });
    const events = await reconcile();
    expect((await role()).metadata.labels).not.toHaveProperty("rbac.authorization.k8s.io/aggregate-to-admin");
    expect(await role(VIEWER)).not.toHaveProperty("aggregationRule");
    expect((await role(VIEWER)).metadata.labels).toHaveProperty("rbac.authorization.k8s.io/aggregate-to-view", "true");
    expect(events.join()).toMatch(/had an aggregation rule; it was created anew/);
  });

  it("restores the subjects of a binding", async () => {
    await admin.patch(
      BINDING,
      CNI,
      { subjects: [{ kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" }] },
      { type: "merge" },
    );
    const events = await reconcile();
    expect((await binding()).subjects).toEqual([{ kind: "ServiceAccount", namespace: "kube-system", name: "cni" }]);
    expect(events.join()).toMatch(/also had the subjects User mallory/);
  });

  it("makes a binding anew that was bound to another role", async () => {
    await rebind("cluster-admin");
    const events = await reconcile();
    expect((await binding()).roleRef.name).toBe(CNI);
    expect(events.join()).toMatch(/bound ClusterRole cluster-admin instead of ClusterRole ipam-operator:cni-plugin/);
  });

  it("deletes a binding that is no longer asked for, and only that", async () => {
    const events = await reconcile({ subjects: new Map([["viewer", given.get("viewer")!]]) });
    expect((await names("clusterrolebindings")).sort()).toEqual(["ipam-operator:operator", VIEWER]);
    expect(events).toEqual([
      `RbacRemoved: ClusterRoleBinding ${CNI} was deleted: nobody is to have this role any more.`,
    ]);
  });

  it("grants only on the groups that are served, and on a group that comes later", async () => {
    const groups = async () => [...new Set((await role()).rules!.flatMap(({ apiGroups }) => apiGroups))].sort();
    await reconcile({ served: ["v1"] });
    expect(await groups()).toEqual(["", "crd.projectcalico.org"]);
    await reconcile({ served: ["v3"] });
    expect(await groups()).toEqual(["", "projectcalico.org"]);
    await reconcile();
    expect(await groups()).toEqual(["", "crd.projectcalico.org", "projectcalico.org"]);
  });

  it.each(["Paused", "Observe"] as const)("writes nothing while the policy is %s", async (policy) => {
    await admin.patch(ROLE, CNI, { rules: [] }, { type: "merge" });
    await admin.delete(BINDING, CNI);
    const before = await revisions();
    const events = await reconcile({ policy, subjects: new Map() });
    expect(await revisions()).toBe(before);
    if (policy === "Paused") return expect(events).toEqual([]);
    expect(events.sort()).toEqual([
      expect.stringMatching(/^RbacDiffers: ClusterRole ipam-operator:cni-plugin lacked .*; it would be put right\. /),
      expect.stringMatching(/^RbacDiffers: ClusterRoleBinding ipam-operator:viewer would be deleted: /),
    ]);
  });

  it("keeps the roles where there is no Installation", async () => {
    await admin.delete(ROLE, CNI);
    await reconcile({ policy: undefined });
    expect((await role()).rules).not.toEqual([]);
  });

  it("tells by its watch when an object of ours is edited, deleted, or loses the label", async () => {
    const { resourceVersion } = await operator.list(ROLE, { labelSelector: RBAC_SELECTOR, metadataOnly: true });
    const stop = new AbortController();
    const watching = operator.watch(ROLE, {
      labelSelector: RBAC_SELECTOR,
      metadataOnly: true,
      resourceVersion,
      signal: stop.signal,
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of watching) {
        if (event.type === "BOOKMARK") continue;
        seen.push(`${event.type} ${event.object.metadata.name}`);
        if (seen.length === 3) return stop.abort();
      }
    })();
    await admin.patch(ROLE, VIEWER, { metadata: { annotations: { a: "b" } } }, { type: "merge" });
    await admin.patch(
      ROLE,
      VIEWER,
      { metadata: { labels: { "app.kubernetes.io/managed-by": null } } },
      { type: "merge" },
    );
    await admin.delete(ROLE, CNI);
    await reading.catch(() => undefined);
    expect(seen).toEqual([`MODIFIED ${VIEWER}`, `DELETED ${VIEWER}`, `DELETED ${CNI}`]);
    await admin.delete(ROLE, VIEWER);
  });

  it.each([
    [
      "edits",
      async () => void (await admin.patch(BINDING, CNI, { metadata: { annotations: { a: "b" } } }, { type: "merge" })),
    ],
    ["makes anew", () => rebind("cluster-admin")],
  ])(
    "does not write over what someone %s after it looked, does the rest, and asks to come again",
    async (_what, slip) => {
      await admin.delete(BINDING, VIEWER);
      const client = afterGet(BINDING.plural, CNI, slip);
      const subjects = new Map([["viewer" as const, given.get("viewer")!]]);
      await expect(reconcile({ client, subjects })).rejects.toMatchObject({ code: "Conflict" });
      expect((await binding()).metadata.name).toBe(CNI);
      expect((await binding(VIEWER)).metadata.name).toBe(VIEWER);
      await reconcile({ subjects });
      expect(await names("clusterrolebindings")).not.toContain(CNI);
    },
  );

  it("leaves an object of our name alone that is not ours, says so, and goes on with the rest", async () => {
    await admin.patch(
      ROLE,
      VIEWER,
      { metadata: { labels: { "app.kubernetes.io/managed-by": "Helm" } }, rules: [] },
      { type: "merge" },
    );
    await admin.patch(BINDING, VIEWER, { metadata: { labels: null } }, { type: "merge" });
    await admin.delete(ROLE, CNI);
    const before = [await role(VIEWER), await binding(VIEWER)];
    const events = await reconcile();
    expect([await role(VIEWER), await binding(VIEWER)]).toEqual(before);
    expect(events.filter((event) => event.startsWith("RbacNotOurs"))).toHaveLength(2);
    expect(events.join("\n")).toMatch(
      /ClusterRole ipam-operator:viewer is not this operator's .*found "Helm".*add that label/,
    );
    expect((await role()).metadata.name).toBe(CNI);
    // Not asked for any more: still not ours to delete.
    expect(await reconcile({ subjects: new Map([["cni-plugin", given.get("cni-plugin")!]]) })).toHaveLength(1);
    expect((await binding(VIEWER)).metadata.name).toBe(VIEWER);
    await Promise.all([admin.delete(ROLE, VIEWER), admin.delete(BINDING, VIEWER)]);
  });
});

describe("with a permission missing", () => {
  const OPERATOR = "ipam-operator:operator";
  it("says which, goes on with the rest, and mends all once it is granted", async () => {
    await reconcile();
    const full = await role(OPERATOR);
    const rules = full.rules!.filter(
      ({ apiGroups, resources }) => !(apiGroups[0] === "" && resources.includes("pods")),
    );
    const nodes = { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] };
    await admin.update(ROLE, { ...full, rules: [...rules, nodes] } as ClusterRole);
    await Promise.all([admin.delete(ROLE, "ipam-operator:controllers"), admin.delete(ROLE, VIEWER)]);
    const events = await reconcile();
    expect(lastResult).toEqual({ requeueAfterMs: 60_000 });
    const words = events.filter((event) => event.startsWith("RbacForbidden"));
    expect(words).toHaveLength(1);
    expect(words[0]).toMatch(
      /ClusterRole ipam-operator:controllers cannot be kept.*rbac\/operator\.yaml.*Resources:\["pods"\], Verbs:\["get" "list" "watch"\]/s,
    );
    expect((await role(VIEWER)).metadata.name).toBe(VIEWER);

    await cluster.kubectlOk(["apply", "-f", "rbac/operator.yaml"]);
    await expect.poll(async () => (await reconcile()).join(), { timeout: 10_000 }).not.toMatch(/Forbidden/);
    expect((await role("ipam-operator:controllers")).metadata.name).toBe("ipam-operator:controllers");
  });

  it("names verb and resource where the operator may not even look", async () => {
    const full = await role(OPERATOR);
    const rules = full.rules!.filter(
      ({ apiGroups, resourceNames }) => !(apiGroups[0] === "rbac.authorization.k8s.io" && resourceNames),
    );
    await admin.update(ROLE, { ...full, rules } as ClusterRole);
    const events = await settled(() => reconcile());
    expect(events.filter((event) => event.startsWith("RbacForbidden"))).toHaveLength(10);
    expect(events.join("\n")).toMatch(/cannot get resource "clusterroles" in API group "rbac\.authorization\.k8s\.io"/);
    await cluster.kubectlOk(["apply", "-f", "rbac/operator.yaml"]);
  });

  /** The authorizer learns of a changed role a moment later. */
  async function settled(pass: () => Promise<string[]>): Promise<string[]> {
    for (;;) {
      const events = await pass();
      if (events.length === 10) return events;
      await sleep(50);
    }
  }
});
