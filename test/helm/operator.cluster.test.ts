/**
 * The operator as the chart would run it: its process, with the flags of the chart's Deployment, under the chart's
 * ServiceAccount, which holds what the chart's roles say and nothing else.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFailed, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { edit, eventually } from "../operator/cluster.ts";
import { type RunningOperator, startOperator } from "../operator/operator-process.ts";
import { denied, OPERATOR_USER } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { deleteCrds } from "../support/delete-crds.ts";
import { untilReady } from "../support/operator-process.ts";
import { objectsIn, only } from "./helm.ts";
import { type Releases, releasesOn } from "./releases.ts";

let cluster: ControlPlane;
let releases: Releases;
const operators: RunningOperator[] = [];
beforeAll(async () => {
  cluster = await startControlPlane();
  releases = releasesOn(cluster);
});
afterEach(() => Promise.all(operators.splice(0).map((operator) => operator.stop())));
afterAll(async () => {
  if (cluster === undefined) return;
  await recordUsage(cluster);
  await cluster.stop();
});

const get = async (...args: string[]) => (await cluster.kubectl(["get", ...args, "--ignore-not-found"])).stdout.trim();
/** With the version in its name: where both forms are served, kubectl takes the shorter one for a short name of v3. */
const cooldownIn = (generation: "v1" | "v3") => {
  const kind = generation === "v1" ? "ipamconfigs.v1.crd.projectcalico.org" : "ipamconfigurations.v3.projectcalico.org";
  return get(kind, "default", "-o", "jsonpath={.spec.ipCooldownSeconds}");
};
const subjectOf = (role: string) =>
  get("clusterrolebinding", `ipam-operator:${role}`, "-o", "jsonpath={.subjects[0].name}");

/** Runs what the release's Deployment runs; what a kubelet mounts is written to a file, what it probes has free ports. */
async function run(): Promise<RunningOperator> {
  const objects = objectsIn(await releases.helmOk(["get", "manifest", "ipam-operator"]));
  const { args } = only(objects, "Deployment")["spec"].template.spec.containers[0] as { args: string[] };
  const subjects = join(cluster.dir, "subjects.yaml");
  writeFileSync(subjects, only(objects, "ConfigMap")["data"]["subjects.yaml"]);
  const given = args
    .filter((arg) => !arg.includes("-bind-address="))
    .map((arg) => (arg.startsWith("--rbac-subjects=") ? `--rbac-subjects=${subjects}` : arg));
  const token = await cluster.serviceAccountToken("ipam-operator", "ipam-operator");
  const operator = await startOperator([...given, `--kubeconfig=${cluster.kubeconfigFor(token)}`]);
  operators.push(operator);
  onTestFailed(() => console.error(operator.stderr.slice(-40).join("\n")));
  await untilReady(operator);
  return operator;
}

const values = {
  rbac: { subjects: { viewer: [{ kind: "Group", name: "on-call" }] } },
  operator: { discoveryPeriod: "1s" },
  logs: { level: "debug" },
};

const namesIn = async (folder: string) =>
  (await cluster.kubectlOk(["get", "-f", folder, "-o", "jsonpath={.items[*].metadata.name}"])).split(" ");

/** In this order on one cluster: the chart's CRDs, then those of the other form beside them, then those alone. */
const SERVED: readonly [served: string, generation: "v1" | "v3", prepare: () => Promise<unknown>][] = [
  [
    "v1 only",
    "v1",
    () => releases.crds("install", { ipamCRDs: "v1" }).then(() => releases.operator("install", values)),
  ],
  ["v1 and v3", "v1", () => cluster.kubectlOk(["apply", "--server-side", "-f", "crds/v3"])],
  ["v3 only", "v3", async () => deleteCrds(cluster, await namesIn("crds/v1"))],
];

test.each(SERVED)("where %s is served it works, and nothing it asks for is refused", async (_, generation, prepare) => {
  await prepare();
  await run();
  const cooldown = 10 + SERVED.findIndex(([, , one]) => one === prepare);
  await edit(cluster, cooldown);
  await eventually(() => cooldownIn(generation)).toBe(`${cooldown}`);
  await eventually(() => subjectOf("viewer")).toBe("on-call");
  await cluster.kubectlOk(["delete", "clusterrole", "ipam-operator:cni-plugin"]);
  await eventually(() => get("clusterrole", "ipam-operator:cni-plugin", "-o", "name")).not.toBe("");
  await eventually(() => get("events.events.k8s.io", "-n", "default", "-o", "name")).not.toBe("");
  expect(await get("lease", "ipam-operator", "-n", "ipam-operator", "-o", "name")).not.toBe("");
  expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
});

test("a subject that the values name no longer loses its role, another gets it", async () => {
  await releases.operator("upgrade", { ...values, rbac: { subjects: { editor: [{ kind: "User", name: "jane" }] } } });
  await run();
  await eventually(() => subjectOf("editor")).toBe("jane");
  await eventually(() => subjectOf("viewer")).toBe("");
});

test("uninstalled under its feet, it cannot bring back what Helm has deleted", async () => {
  await releases.operator("upgrade", { ...values, rbac: { ...values.rbac, deleteOnUninstall: true } });
  const operator = await run();
  await eventually(() => subjectOf("viewer")).toBe("on-call");
  await releases.helmOk(["uninstall", "ipam-operator"]);
  const left = () => get("clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/managed-by=ipam-operator");
  expect(await left()).toBe("");
  // Long enough for its next try to renew the Lease and to restore the roles.
  await eventually(() => operator.stderr.join("\n"), 30_000).toMatch(/cannot be reconciled|cannot (get|update|create)/);
  await operator.stop();
  expect(await left()).toBe("");
  expect(await get("lease", "ipam-operator", "-n", "ipam-operator")).toBe("");
});
