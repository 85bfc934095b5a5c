/** The choice of the API group on a real API server, whose kinds come and go. The tests build on each other. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { applyCrds, type CrdChoice } from "../../test/control-plane/crds.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import { servedResources } from "../kube/discovery.ts";
import { connect } from "../kube/rest.ts";
import type { KubeClient } from "../kube/types.ts";
import { chooseApiGroup } from "./api-group.ts";
import { connectKubernetes } from "./connect.ts";
import { openKubernetes } from "./kubernetes.ts";

const V1 = { flavour: "v1", apiGroup: "crd.projectcalico.org/v1" };
const V3 = { flavour: "v3", apiGroup: "projectcalico.org/v3" };
const MIGRATION_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: datastoremigrations.migration.projectcalico.org}
spec:
  group: migration.projectcalico.org
  scope: Cluster
  names: {plural: datastoremigrations, singular: datastoremigration, kind: DatastoreMigration}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

let cluster: ControlPlane;
let proxy: FaultProxy;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startControlPlane();
  proxy = await startFaultProxy(cluster);
  client = await connect({ kubeconfig: proxy.kubeconfig });
});
afterAll(async () => {
  await client?.close();
  await proxy?.stop();
  await cluster?.stop();
});

const serve = (crds: CrdChoice) => applyCrds(cluster, crds);
/** Discovery follows the CRDs a moment later. */
const served = (group: string, version: string, plural: string, want: boolean) =>
  expect
    .poll(async () => (await servedResources(client, group, version))?.has(plural) ?? false, { timeout: 90_000 })
    .toBe(want);
const migration = (type: string, phase: string) =>
  cluster.apply(
    `apiVersion: migration.projectcalico.org/v1beta1\nkind: DatastoreMigration\nmetadata: {name: v1-to-v3}\n` +
      `spec: {type: ${type}}\nstatus: {phase: ${phase}}\n`,
  );

describe("what a person names wins, without a look at the cluster", () => {
  test.each([
    ["the flag v1", { flag: "v1" }, V1],
    ["the flag v3", { flag: "v3" }, V3],
    ["the flag over the variable", { flag: "v1", env: { CALICO_API_GROUP: "projectcalico.org/v3" } }, V1],
    ["the variable for v3, in any case", { flag: "auto", env: { CALICO_API_GROUP: "ProjectCalico.org/V3" } }, V3],
    ["any other variable", { env: { CALICO_API_GROUP: "crd.projectcalico.org/v1" } }, V1],
  ] as const)("%s", async (_what, request, expected) => {
    const before = proxy.requests.length;
    expect(await chooseApiGroup(client, request)).toMatchObject({
      ...expected,
      chosenBy: expect.stringMatching(/^Flag: /),
    });
    expect(proxy.requests).toHaveLength(before);
  });
});

describe("discovery", () => {
  test("neither: NotServed, naming both and what to install", async () => {
    const missing = expect.objectContaining({
      code: "NotServed",
      message: expect.stringMatching(/projectcalico\.org\/v3.*crd\.projectcalico\.org\/v1.*kubectl apply/s),
    });
    await expect(chooseApiGroup(client, { env: { CALICO_API_GROUP: "" } })).rejects.toEqual(missing);
    await expect(connectKubernetes({ kubeconfig: cluster.kubeconfig })).rejects.toEqual(missing);
  });

  test("only v1", async () => {
    await serve("v1");
    await served("crd.projectcalico.org", "v1", "ipamconfigs", true);
    expect(await chooseApiGroup(client)).toMatchObject({
      ...V1,
      chosenBy: expect.stringMatching(/^Discovery: .*only/),
    });
  });

  test("both: v1", async () => {
    await serve("both");
    await served("projectcalico.org", "v3", "ipamconfigurations", true);
    expect(await chooseApiGroup(client)).toMatchObject({ ...V1, chosenBy: expect.stringMatching(/^Discovery: both/) });
  });

  test("both, and v3 by Calico's API server, which serves no blocks: v1", async () => {
    const names = ["ipamconfigurations", "ippools", "blockaffinities"];
    const resources = names.map((name) => ({ name, singularName: "", namespaced: false, kind: name, verbs: [] }));
    const body = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "projectcalico.org/v3", resources };
    proxy.fail({ path: /^\/apis\/projectcalico.org\/v3$/ }, { status: 200, body, times: 1 });
    expect(await chooseApiGroup(client)).toMatchObject({ ...V1, chosenBy: expect.stringMatching(/API server/) });
  });

  test("TRY-10: both, and only v3 holds data: v3; both hold data: v1; the reason has both counts", async () => {
    const pool = (name: string, cidr: string) => ({
      apiVersion: "projectcalico.org/v3" as const,
      kind: "IPPool" as const,
      metadata: { name },
      spec: { cidr },
    });
    const [v1, v3] = [openKubernetes({ client, flavour: "v1" }), openKubernetes({ client, flavour: "v3" })];
    const made = [await v3.create(pool("a", "10.0.0.0/16")), await v3.create(pool("b", "10.1.0.0/16"))];
    expect(await chooseApiGroup(client)).toMatchObject({
      ...V3,
      chosenBy: expect.stringMatching(/v1 holds 0 blocks and 0 pools, projectcalico.org\/v3 0 blocks and 2 pools$/),
    });
    const forbidden = { status: 403, times: Number.POSITIVE_INFINITY };
    proxy.fail({ path: "/projectcalico.org/v3/ippools" }, forbidden);
    await expect(chooseApiGroup(client)).rejects.toMatchObject({ code: "Unauthorized" });
    const old = await v1.create(pool("a", "10.0.0.0/16"));
    expect(await chooseApiGroup(client)).toMatchObject({
      ...V1,
      chosenBy: expect.stringMatching(/v3 may not be listed$/),
    });
    proxy.clear();
    expect(await chooseApiGroup(client)).toMatchObject({
      ...V1,
      chosenBy: expect.stringMatching(/v1 holds 0 blocks and 1 pool, projectcalico.org\/v3 0 blocks and 2 pools$/),
    });
    await v1.delete(old);
    for (const each of made) await v3.delete(each);
  });

  test.each([
    ["/apis/migration.projectcalico.org", 403, "Unauthorized"],
    ["/apis/crd.projectcalico.org/v1", 500, "Unavailable"],
    ["/apis/projectcalico.org/v3", 503, "Unavailable"],
  ])("%s answered by %i is an error (%s), not a guess", async (path, status, code) => {
    proxy.fail({ path: new RegExp(`^${path}$`) }, { status, times: Number.POSITIVE_INFINITY });
    await expect(chooseApiGroup(client, { timeoutMs: 1000 })).rejects.toMatchObject({ name: "DatastoreError", code });
    proxy.clear();
  });

  test("a server that is away is an error", async () => {
    await proxy.refuseAll();
    await expect(chooseApiGroup(client, { timeoutMs: 500 })).rejects.toMatchObject({ code: "Unavailable" });
    await proxy.acceptAll();
  });
});

describe("Calico's DatastoreMigration, while both are served", () => {
  test("none: v1", async () => {
    await cluster.apply(MIGRATION_CRD);
    await served("migration.projectcalico.org", "v1beta1", "datastoremigrations", true);
    expect(await chooseApiGroup(client)).toMatchObject(V1);
  });

  test.each([
    ["APIServerToCRDs", "Migrating", V1],
    ["APIServerToCRDs", "WaitingForConflictResolution", V1],
    ["APIServerToCRDs", "Failed", V1],
    ["SomethingElse", "Complete", V1],
    ["APIServerToCRDs", "Converged", V3],
    ["V1ToV3", "Complete", V3],
    ["APIServerToCRDs", "Complete", V3],
  ])("%s, %s", async (type, phase, expected) => {
    await migration(type, phase);
    expect(await chooseApiGroup(client)).toMatchObject(expected);
  });

  test("its phase is named as the reason, and the flag still wins", async () => {
    expect((await chooseApiGroup(client)).chosenBy).toMatch(/^Migration: .* is Complete$/);
    expect(await chooseApiGroup(client, { flag: "v1" })).toMatchObject(V1);
  });
});

describe("when v1 is gone", () => {
  test("v3, and connecting opens it", { timeout: 120_000 }, async () => {
    await cluster.kubectlOk(["delete", "--wait=false", "crd", "datastoremigrations.migration.projectcalico.org"]);
    await cluster.kubectlOk(["delete", "--wait=false", "--filename", join(import.meta.dirname, "../../crds/v1")]);
    await served("migration.projectcalico.org", "v1beta1", "datastoremigrations", false);
    await served("crd.projectcalico.org", "v1", "ipamconfigs", false);
    expect(await chooseApiGroup(client)).toMatchObject({
      ...V3,
      chosenBy: expect.stringMatching(/^Discovery: .*only/),
    });
    const datastore = await connectKubernetes({ kubeconfig: cluster.kubeconfig });
    expect(datastore.description).toBe("projectcalico.org/v3");
    expect((await datastore.list("IPPool")).items).toEqual([]);
    await datastore.close();
  });
});
