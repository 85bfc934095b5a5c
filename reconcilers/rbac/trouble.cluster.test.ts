/** The RBAC reconciler among others on a real API server: foreign objects, races, permissions that are missing. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ClusterRole, ClusterRoleBinding } from "../../rbac/objects.ts";
import type { PolicyRule } from "../../rbac/rules.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import {
  BINDING,
  CNI,
  type RbacCluster,
  ROLE,
  startRbacCluster,
  VIEWER,
  VIEWERS_ONLY,
} from "../../test/support/rbac-cluster.ts";

const CONTROLLERS = "ipam-operator:controllers";

let cluster: RbacCluster;
beforeAll(async () => {
  cluster = await startRbacCluster();
});
afterAll(() => cluster?.stop());
beforeEach(async () => {
  await cluster.reconcile();
});

describe("an object of our name that is not ours", () => {
  it("is left alone and told of, and the rest goes on", async () => {
    const { admin, reconcile, role, binding } = cluster;
    const labels = { "app.kubernetes.io/managed-by": "Helm" };
    await admin.patch(ROLE, VIEWER, { metadata: { labels }, rules: [] }, { type: "merge" });
    await admin.patch(BINDING, VIEWER, { metadata: { labels: null }, subjects: [] }, { type: "merge" });
    await admin.delete(ROLE, CNI);
    const before = [await role(VIEWER), await binding(VIEWER)];
    const { events, result } = await reconcile();
    expect([await role(VIEWER), await binding(VIEWER)]).toEqual(before);
    expect(result).toEqual({});
    expect(events).toEqual([
      expect.stringMatching(/RbacNotOurs: ClusterRole ipam-operator:viewer is not .*found "Helm".*add that label/),
      expect.stringMatching(/RbacNotOurs: ClusterRoleBinding ipam-operator:viewer is not .*found no such label/),
      `RbacRestored: ClusterRole ${CNI} was missing; it was created.`,
    ]);
  });

  it("is not deleted either when nobody is to have the role any more", async () => {
    const { admin, reconcile, binding } = cluster;
    await admin.patch(BINDING, VIEWER, { metadata: { labels: null } }, { type: "merge" });
    const { uid } = (await binding(VIEWER)).metadata;
    await reconcile({ subjects: new Map() });
    expect((await binding(VIEWER)).metadata.uid).toBe(uid);
    await Promise.all([admin.delete(ROLE, VIEWER), admin.delete(BINDING, VIEWER)]);
  });
});

describe("a deletion that finalizers hold up", () => {
  const patch = (type: typeof ROLE | typeof BINDING, name: string, change: object) =>
    cluster.admin.patch(type, name, change, { type: "merge" });

  it("is told as what it is, holds up nothing else, and goes on once they are gone", async () => {
    const { role, binding } = cluster;
    const metadata = { finalizers: ["example.com/keep"] };
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { x: "y" } }] };
    await patch(ROLE, VIEWER, { metadata, aggregationRule });
    await patch(BINDING, CNI, { metadata });
    await cluster.admin.delete(ROLE, CONTROLLERS);
    const held = [
      expect.stringMatching(
        /^RbacHeld: ClusterRole ipam-operator:viewer .*example\.com\/keep.*kubectl patch clusterrole /,
      ),
      expect.stringMatching(/^RbacHeld: ClusterRoleBinding ipam-operator:cni-plugin .*example\.com\/keep/),
    ];
    const restored = `RbacRestored: ClusterRole ${CONTROLLERS} was missing; it was created.`;
    expect(await cluster.reconcile({ subjects: VIEWERS_ONLY })).toEqual({ result: {}, events: [...held, restored] });
    const before = [await role(VIEWER), await binding(CNI)];
    expect(await cluster.reconcile({ subjects: VIEWERS_ONLY })).toEqual({ result: {}, events: held });
    expect([await role(VIEWER), await binding(CNI)]).toEqual(before);
    await patch(ROLE, VIEWER, { metadata: { finalizers: null } });
    await patch(BINDING, CNI, { metadata: { finalizers: null } });
    const { events } = await cluster.reconcile({ subjects: VIEWERS_ONLY });
    expect(events).toEqual([`RbacRestored: ClusterRole ${VIEWER} was missing; it was created.`]);
    expect(await role(VIEWER)).not.toHaveProperty("aggregationRule");
    expect(await cluster.names("clusterrolebindings")).not.toContain(CNI);
  });
});

describe("someone else's write between look and write", () => {
  const touch = async () => {
    await cluster.admin.patch(BINDING, CNI, { metadata: { annotations: { a: "b" } } }, { type: "merge" });
  };
  const makeAnew = async () => {
    const { metadata, ...rest } = await cluster.binding();
    await cluster.admin.delete(BINDING, CNI);
    const anew = { ...rest, metadata: { name: CNI, labels: metadata.labels! } };
    await cluster.admin.create<ClusterRoleBinding>(BINDING, anew);
  };

  it.each([
    ["edits", touch],
    ["makes anew", makeAnew],
  ])("is looked at again in the same pass when it %s a binding that is to go", async (_, slip) => {
    await cluster.admin.delete(BINDING, VIEWER);
    await cluster.reconcile({ client: slippingIn(slip), subjects: VIEWERS_ONLY });
    expect(await cluster.names("clusterrolebindings")).toEqual(["ipam-operator:operator", VIEWER]);
  });

  it("is respected when it takes over the binding", async () => {
    const labels = { "app.kubernetes.io/managed-by": "Helm" };
    const takeOver = async () =>
      void (await cluster.admin.patch(BINDING, CNI, { metadata: { labels } }, { type: "merge" }));
    await cluster.reconcile({ client: slippingIn(takeOver), subjects: VIEWERS_ONLY });
    expect((await cluster.binding()).metadata.labels).toMatchObject(labels);
    await cluster.admin.delete(BINDING, CNI);
  });

  /** The operator's client, with one write of someone else after its first look at the binding of the CNI plugin. */
  const slippingIn = (slip: () => Promise<void>): KubeClient => {
    let isFirst = true;
    return new Proxy(cluster.operator, {
      get: (client, property: keyof KubeClient) => {
        const member = client[property];
        if (typeof member !== "function") return member;
        if (property !== "get") return member.bind(client);
        return async (...args: Parameters<KubeClient["get"]>) => {
          const found = await client.get(...args);
          if (!isFirst || args[0] !== BINDING || args[1] !== CNI) return found;
          isFirst = false;
          await slip();
          return found;
        };
      },
    });
  };
});

describe("a permission that is missing", () => {
  /** Takes rules from the operator's own role, as an old manifest would lack them. */
  async function without(lacks: (rule: PolicyRule) => boolean, instead: readonly PolicyRule[] = []): Promise<void> {
    const full = await cluster.role("ipam-operator:operator");
    const rules = [...full.rules!.filter((rule) => !lacks(rule)), ...instead];
    await cluster.admin.update<ClusterRole>(ROLE, { ...full, rules });
  }
  const refusals = async () => (await cluster.reconcile()).events.filter((event) => event.startsWith("RbacForbidden"));
  const restoreOperator = () => cluster.controlPlane.kubectlOk(["apply", "-f", "rbac/operator.yaml"]);

  it("is named, the rest goes on, and all is mended once it is granted", async () => {
    const nodes = { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] };
    const listOfPods = { apiGroups: [""], resources: ["pods"], verbs: ["list"] }; // enough for viewers
    await without(({ resources }) => resources.includes("pods"), [nodes, listOfPods]);
    await Promise.all([CONTROLLERS, VIEWER].map((name) => cluster.admin.delete(ROLE, name)));
    const { events, result } = await cluster.reconcile();
    expect(result).toEqual({ requeueAfterMs: 60_000 });
    expect(events).toEqual([
      expect.stringMatching(
        /RbacForbidden: ClusterRole ipam-operator:controllers cannot be reconciled.*rbac\/operator\.yaml.*Resources:\["pods"\], Verbs:\["get" "watch"\]/s,
      ),
      expect.stringMatching(/RbacRestored: ClusterRole ipam-operator:viewer was missing/),
    ]);
    await restoreOperator();
    await expect.poll(refusals, { timeout: 60_000 }).toEqual([]);
    expect(await cluster.names("clusterroles")).toContain(CONTROLLERS);
  });

  it("is named by verb and resource where the operator may not even look", async () => {
    await without(({ resources, resourceNames }) => resources.includes("clusterroles") && resourceNames !== undefined);
    await expect.poll(refusals, { timeout: 60_000 }).toHaveLength(10);
    expect((await refusals())[0]).toMatch(
      /cannot get resource "clusterroles" in API group "rbac\.authorization\.k8s\.io"/,
    );
    await restoreOperator();
    await expect.poll(refusals, { timeout: 60_000 }).toEqual([]);
  });
});
