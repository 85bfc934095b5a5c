/**
 * TRY-10: Calico's migration from v1 to v3, as its controller goes about it, with an operator that runs all the time. The steps
 * build on each other. At each the operator, `ipamctl` and the library must work on the same set of data.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { resources } from "../../src/api/resources.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import { connectKubernetes } from "../../src/datastore/connect.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { codecOf } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { ipamctl } from "../cli/ipamctl.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { applyCrds } from "../control-plane/crds.ts";
import { denied, OPERATOR_USER } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { deleteCrds } from "../support/delete-crds.ts";
import { type RunningOperator, startOperator } from "../support/operator-process.ts";
import { apiOf } from "./fixtures.ts";
import { type User, userOf } from "./user.ts";

const KINDS = Object.keys(resources) as IpamKind[];
const V1 = "crd.projectcalico.org/v1";
const V3 = "projectcalico.org/v3";

let cluster: ControlPlane;
let admin: KubeClient;
let operator: RunningOperator;
let user: User;
/** Opened before the migration, and never opened again. */
let longLived: Datastore;
let cached: CachedDatastore;
const assigned: string[] = [];

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v1" });
  await cluster.apply("test/cases/inputs/r12-migration.yaml");
  await deleteCrds(cluster, ["clusterinformations.projectcalico.org"]);
  admin = await connect({ kubeconfig: cluster.kubeconfig });
  user = userOf(cluster, "v1");
  longLived = await open();
  await longLived.create({
    apiVersion: V3,
    kind: "IPPool",
    metadata: { name: "pods" },
    spec: { cidr: "10.0.0.0/24", blockSize: 28 },
  });
  await user.addNode("node-a");
  cached = cachedDatastore(longLived, { onError: () => {} });
  await cached.synced();
  await setLock("v1", false);
  operator = await startOperator(cluster, { args: ["--discovery-period=2s"] });
});
afterAll(async () => {
  await operator?.stop();
  if (cluster) {
    expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
    await recordUsage(cluster);
  }
  await cached?.close();
  await admin?.close();
  await cluster?.stop();
});

const open = () => connectKubernetes({ kubeconfig: cluster.kubeconfig });
const setLock = (generation: "v1" | "v3", locked: boolean) => {
  const { group, version } = apiOf(generation);
  const metadata = { name: "default" };
  const spec = { datastoreReady: !locked };
  return user.apply({ apiVersion: `${group}/${version}`, kind: "ClusterInformation", metadata, spec });
};
const setPhase = (phase: string) =>
  cluster.kubectlOk([
    ...["patch", "datastoremigration", "v1-to-v3", "--subresource=status", "--type=merge"],
    ...["--patch", JSON.stringify({ status: { phase } })],
  ]);
const datastore = async () => (await user.installation())?.status?.datastore;
const expectReady = (apiGroup: string, chosenBy: RegExp) =>
  expect
    .poll(async () => ({ reasons: await user.reasons(), ...(await datastore()) }))
    .toEqual({ reasons: ["Ready=True Succeeded"], apiGroup, chosenBy: expect.stringMatching(chosenBy) });

/** Assigns one address as a process that starts now, and checks that nobody has it. */
async function assignOne(expected: string): Promise<void> {
  const store = await open();
  expect(store.description).toBe(expected);
  const args = { num4: 1, hostname: "node-a", handleID: `h${assigned.length}`, intendedUse: "Workload" } as const;
  const { v4 } = await createIpam({ datastore: store }).autoAssign(args);
  await store.close();
  const address = v4!.ips[0]!.replace("/28", "");
  expect(assigned).not.toContain(address);
  assigned.push(address);
}

/** `ipamctl` sees every address that was assigned, in the group that is in use, and finds nothing wrong with it. */
async function expectSeen(apiGroup: string): Promise<void> {
  const place = ["--kubeconfig", cluster.kubeconfig];
  const version = JSON.parse((await ipamctl(["version", "-o", "json", ...place])).stdout);
  expect(version.cluster.apiGroup).toBe(apiGroup);
  const { stdout } = await ipamctl(["show", "--node", "node-a", "-o", "name", ...place]);
  expect(stdout.trim().split("\n").sort()).toEqual([...assigned].sort());
  const { DatastoreLocked: _lock, ...counts } = JSON.parse(
    (await ipamctl(["check", "-o", "json", ...place])).stdout,
  ).counts;
  expect(counts).toEqual({ UnknownOwner: assigned.length });
}

/** What Calico's migration copies, with what its form in v3 is. */
async function copyToV3(): Promise<void> {
  const v1 = openKubernetes({ client: admin, flavour: "v1" });
  for (const kind of KINDS) {
    const { resource, write } = codecOf("v3", kind);
    for (const { metadata, ...rest } of (await v1.list(kind)).items) {
      const { name, labels, annotations } = metadata;
      const copy = { ...rest, metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) } };
      await admin.create(resource, write(copy as never));
    }
  }
}

it("before: all is in v1", async () => {
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 10 });
  await expectReady(V1, /^Discovery: the only one/);
  await assignOne(V1);
  await expectSeen(V1);
});

it("v3 CRDs are there, and empty: all stays in v1, and the reason has both counts", async () => {
  await applyCrds(cluster, "v3");
  await cluster.apply("test/cases/inputs/r12-migration.yaml");
  await cluster.kubectlOk(["wait", "--for=condition=Established", "crd/clusterinformations.projectcalico.org"]);
  await expect
    .poll(async () => (await ipamctl(["version", "--kubeconfig", cluster.kubeconfig])).stdout)
    .toMatch(
      /both groups are served; crd\.projectcalico\.org\/v1 holds 1 block and 1 pool, projectcalico\.org\/v3 0 blocks and 0 pools/,
    );
  await assignOne(V1);
  await expectSeen(V1);
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 11 });
  await expectReady(V1, /^Discovery/);
  expect((await user.spec())?.ipCooldownSeconds).toBe(11);
});

it("while it runs both are locked: nothing is written, and v1 is in use though both hold data", async () => {
  await user.apply({
    apiVersion: "migration.projectcalico.org/v1beta1",
    kind: "DatastoreMigration",
    metadata: { name: "v1-to-v3" },
    spec: { type: "APIServerToCRDs" },
  });
  await setPhase("Migrating");
  await setLock("v3", true);
  await setLock("v1", true);
  await copyToV3();
  await user.install({ managementPolicy: "Observe", ipam: { strictAffinity: true, ipCooldownSeconds: 20 } });
  await expect.poll(user.message).toMatch(/DatastoreLocked/);
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 20 });
  await expect.poll(user.reasons).toEqual(["Ready=False DatastoreLocked", "Reconciling=True DatastoreLocked"]);
  expect((await user.spec())?.ipCooldownSeconds).toBe(11);
  await expectSeen(V1);
  const ran = await ipamctl([
    "assign",
    "--count",
    "1",
    "--node",
    "node-a",
    "--yes",
    "--kubeconfig",
    cluster.kubeconfig,
  ]);
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/datastore is locked/) });
  const version = await ipamctl(["version", "--kubeconfig", cluster.kubeconfig]);
  expect(version.stdout).toMatch(/v1 holds 1 block and 1 pool, projectcalico\.org\/v3 1 block and 1 pool/);
});

it("when it has converged, the operator changes over by itself, and v1 stays as it was", async () => {
  await setLock("v3", false);
  await setPhase("Converged");
  await expectReady(V3, /^Migration: .* is Converged$/);
  const inV3 = userOf(cluster, "v3");
  expect((await inV3.spec())?.ipCooldownSeconds).toBe(20);
  expect((await user.spec())?.ipCooldownSeconds).toBe(11);
  await assignOne(V3);
  await expectSeen(V3);
});

it("drift in v3 is reverted, and v1 is not looked at any more", async () => {
  await userOf(cluster, "v3").patch({ ipCooldownSeconds: 3 });
  await expect.poll(async () => (await userOf(cluster, "v3").spec())?.ipCooldownSeconds).toBe(20);
  expect((await user.spec())?.ipCooldownSeconds).toBe(11);
});

it("at the end the migration and the v1 CRDs go: nobody advises to install them again", {
  timeout: 240_000,
}, async () => {
  await setPhase("Complete");
  await expectReady(V3, /^Migration: .* is Complete$/);
  const v1 = (await cluster.kubectlOk(["get", "crds", "--output", "name"]))
    .split("\n")
    .map((line) => line.slice(line.indexOf("/") + 1))
    .filter((name) => name.endsWith(".crd.projectcalico.org"));
  await deleteCrds(cluster, v1);
  await cluster.kubectlOk(["delete", "datastoremigration", "v1-to-v3"]);
  await expectReady(V3, /^Discovery: the only one of the two groups that is served$/);
  await assignOne(V3);
  await expectSeen(V3);
  const rules = async () => cluster.kubectlOk(["get", "clusterrole", "ipam-operator:viewer", "--output", "yaml"]);
  await expect.poll(rules).not.toMatch(/crd\.projectcalico\.org/);
  expect(await rules()).toMatch(/projectcalico\.org/);
  expect([...operator.stdout, ...operator.stderr].filter((line) => /crds\/v1/.test(line))).toEqual([]);
});

it.each([
  ["that reads from the server", () => longLived],
  ["with caches", () => cached],
])("a library client on v1 %s ends in an error that says where the data is", async (_, store) => {
  const args = { num4: 1, hostname: "node-a", handleID: "late", intendedUse: "Workload" } as const;
  const ended = async () => {
    const error = await createIpam({ datastore: store() })
      .autoAssign(args)
      .catch((reason: unknown) => reason);
    return error as { readonly code?: string; readonly message?: string };
  };
  // A cache first sees the pools go with their definition.
  await expect.poll(ended).toMatchObject({
    code: "NotServed",
    message: expect.stringMatching(
      /\(crd\.projectcalico\.org\/v1\) is not served by the cluster; projectcalico\.org\/v3 is in use .*Open the datastore again/,
    ),
  });
});

it("a group that was set by hand is not left in silence", async () => {
  const named = await ipamctl(["show", "--datastore", "v1", "--kubeconfig", cluster.kubeconfig]);
  expect(named).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/projectcalico\.org\/v3 is in use/),
  });
});

it("somebody installs the v1 CRDs again: the empty group is chosen by nobody", async () => {
  await applyCrds(cluster, "v1");
  await assignOne(V3);
  await expectSeen(V3);
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 21 });
  await expectReady(V3, /^Discovery/);
  expect(await user.configuration()).toBeUndefined();
  const restarted = await startOperator(cluster, { args: ["--leader-elect=false"] });
  await expect
    .poll(() => restarted.stderr.join("\n"))
    .toMatch(
      /Using projectcalico\.org\/v3 \(Discovery: both groups are served; crd\.projectcalico\.org\/v1 holds 0 blocks/,
    );
  await restarted.stop();
  expect(await user.configuration()).toBeUndefined();
});
