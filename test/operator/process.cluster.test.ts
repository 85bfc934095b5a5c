/** The operator as a process against a real API server: what it shows of itself, and how it starts in a bad world. */

import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { ALONE, edit, eventually, FAST, installation, readyMessage, readyReason, storedCooldown } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

const operators: RunningOperator[] = [];
async function start(args: readonly string[]): Promise<RunningOperator> {
  const operator = await startOperator(args);
  operators.push(operator);
  onTestFailed(() => console.error(operator.stderr.slice(-40).join("\n")));
  return operator;
}
afterEach(async () => {
  await Promise.all(operators.splice(0).map((operator) => operator.stop("SIGKILL")));
});
const ready = (operator: RunningOperator) =>
  eventually(async () => (await operator.probe("/readyz")).body).toBe("ok\n");

describe("on a cluster with everything installed", () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: "v3" });
    await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
  });
  afterAll(() => cluster.stop());

  test("says where it works and why, reconciles, and answers probes and scrapes", async () => {
    await edit(cluster, 11);
    const operator = await start([...FAST, "--kubeconfig", cluster.kubeconfig]);
    await ready(operator);
    await eventually(() => storedCooldown(cluster)).toBe(11);
    expect(await operator.probe("/healthz")).toEqual({ status: 200, body: "ok\n" });
    const metrics = () => operator.metrics();
    // A reconciliation is counted, and its lines have arrived, after what it wrote can be read.
    await eventually(metrics).toMatch(
      /^controller_runtime_reconcile_total\{controller="installation",result="success"\} [1-9]/m,
    );
    await eventually(() => operator.stderr.join("\n")).toContain('"reason":"Configured"');
    const lines = operator.stderr.map((line) => JSON.parse(line) as Record<string, string>);
    const first = lines[0]?.["msg"];
    expect(first).toMatch(/^Working on context .*, user .*, because --kubeconfig names it$/);
    expect(first?.split(cluster.server)).toHaveLength(2);
    expect(first?.split(cluster.kubeconfig)).toHaveLength(2);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "info",
        reason: "Configured",
        msg: expect.stringContaining("ipCooldownSeconds"),
      }),
    );
    const reconciled = lines.find(({ controller }) => controller === "installation");
    expect(reconciled).toMatchObject({
      controllerGroup: "ipam-operator.io",
      controllerKind: "Installation",
      name: "default",
    });
    const host = new URL(cluster.server).host;
    expect(await metrics()).toMatch(/^workqueue_adds_total\{name="installation",controller="installation"\} [1-9]/m);
    expect(await metrics()).toMatch(/^leader_election_master_status\{name="ipam-operator"\} 1$/m);
    expect(await metrics()).toMatch(
      new RegExp(`^rest_client_requests_total\\{code="200",method="GET",host="${host}"\\} [1-9]`, "m"),
    );
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  });

  test("a flag that cannot be used is one line and exit code 2", async () => {
    const operator = await start(["--concurrent=none"]);
    expect(await operator.ended).toEqual({ code: 2, signal: null });
    expect(operator.stderr).toEqual([
      expect.stringMatching(/^ipam-operator: .*--concurrent.*from 1 up\. See --help\.$/),
    ]);
  });

  test("a kubeconfig that is not there is one line and exit code 1", async () => {
    const operator = await start(["--kubeconfig", "/nowhere/config"]);
    expect(await operator.ended).toEqual({ code: 1, signal: null });
    expect(operator.stderr.at(-1)).toContain("/nowhere/config");
  });

  test.each(["health-probe", "metrics"])(
    "a taken %s port ends the process, with the cause in the last line",
    async (what) => {
      const taken = createServer().listen(0, "127.0.0.1");
      onTestFinished(() => void taken.close());
      await once(taken, "listening");
      const { port } = taken.address() as AddressInfo;
      const operator = await start([`--${what}-bind-address=127.0.0.1:${port}`, "--kubeconfig", cluster.kubeconfig]);
      expect(await operator.ended).toEqual({ code: 1, signal: null });
      expect(operator.stderr.at(-1)).toMatch(
        new RegExp(`^ipam-operator: Cannot serve .*${port}.*already in use.*--${what}-bind-address`),
      );
    },
  );

  test("without the operator's namespace, log and readiness say what to apply", async () => {
    const operator = await start([...FAST, "--kubeconfig", cluster.kubeconfig, "--namespace=absent"]);
    const remedy = /rbac\/operator\.yaml.*--namespace/;
    await eventually(async () => (await operator.probe("/readyz")).body).toMatch(remedy);
    const said = () => operator.stderr.filter((line) => line.includes("Cannot acquire"));
    await eventually(said).toEqual([expect.stringMatching(remedy)]);
  });

  test("roles are granted to the subjects of the file", async () => {
    const folder = await mkdtemp(join(cluster.dir, "subjects-"));
    const file = join(folder, "subjects.yaml");
    await writeFile(file, "viewer: [{kind: User, name: jane}]\n");
    await start([...FAST, ...ALONE, "--kubeconfig", cluster.kubeconfig, "--rbac-subjects", file]);
    const may = ["auth", "can-i", "list", "ipaminstallations.ipam-operator.io"];
    await eventually(async () => (await cluster.kubectl(may, { token: cluster.janeToken })).stdout.trim()).toBe("yes");
  });
});

const definition = (group: string, version: string, kind: string, plural: string) => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.${group}}
spec:
  group: ${group}
  scope: Cluster
  names: {kind: ${kind}, plural: ${plural}, singular: ${kind.toLowerCase()}}
  versions:
    - name: ${version}
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`;

describe("kinds that are installed while it runs", () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: "v3" });
  });
  afterAll(() => cluster.stop());
  const object = (apiVersion: string, kind: string, spec: string) =>
    `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: default}\nspec: ${spec}\n`;
  const lock = (ready: boolean) =>
    cluster.apply(object("projectcalico.org/v3", "ClusterInformation", `{datastoreReady: ${ready}}`));
  const install = async (group: string, version: string, kind: string, plural: string) => {
    await cluster.apply(definition(group, version, kind, plural));
    await cluster.kubectlOk(["wait", "--for=condition=Established", `crd/${plural}.${group}`, "--timeout=20s"]);
  };

  test("Calico's lock and Calico's operator are heeded as soon as they are there, and no longer", async () => {
    await edit(cluster, 1);
    await start([...FAST, ...ALONE, "--kubeconfig", cluster.kubeconfig]);
    await eventually(() => storedCooldown(cluster)).toBe(1);

    await install("projectcalico.org", "v3", "ClusterInformation", "clusterinformations");
    await lock(false);
    // With Observe the operator says that it has seen the lock; without that a write could be faster.
    await cluster.apply(installation(2).replace("Enforce", "Observe"));
    await eventually(() => readyMessage(cluster)).toContain("DatastoreLocked");
    await edit(cluster, 2);
    await eventually(() => readyReason(cluster)).toBe("DatastoreLocked");
    expect(await storedCooldown(cluster)).toBe(1);
    await lock(true);
    await eventually(() => storedCooldown(cluster)).toBe(2);

    await install("operator.tigera.io", "v1", "Installation", "installations");
    await cluster.apply(object("operator.tigera.io/v1", "Installation", "{cni: {ipam: {type: HostLocal}}}"));
    await eventually(() => readyReason(cluster)).toBe("NotApplicable");
    await cluster.kubectlOk(["delete", "crd", "installations.operator.tigera.io"]);
    await eventually(() => readyReason(cluster)).toBe("Succeeded");
  });
});

describe("in a world that is not ready", () => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: "none" });
    proxy = await startFaultProxy(cluster);
  });
  afterAll(async () => {
    await proxy.stop();
    await cluster.stop();
  });

  test("API away, then no CRDs, then no permission: it says what to do each time, and goes on by itself", async () => {
    await proxy.refuseAll();
    const token = await cluster.serviceAccountToken("ipam-operator", "ipam-operator", { create: true });
    const operator = await start([...FAST, "--kubeconfig", proxy.kubeconfigFor(token)]);
    const readiness = async () => (await operator.probe("/readyz")).body;
    const said = () => operator.stderr.join("\n");
    await eventually(said).toContain("The API server cannot be asked");

    await proxy.acceptAll();
    await eventually(said).toContain("Apply the operator's role: kubectl apply -f rbac/operator.yaml");
    await cluster.apply(join(import.meta.dirname, "../../rbac/operator.yaml"));
    await eventually(readiness).toContain("crds/ipam-operator.io_ipaminstallations.yaml");
    expect((await operator.probe("/healthz")).status).toBe(200);

    await cluster.apply(join(import.meta.dirname, "../../crds/ipam-operator.io_ipaminstallations.yaml"));
    await eventually(readiness).toBe("ok\n");
    await eventually(async () => (await cluster.kubectl(["apply", "-f", "-"], { input: installation(12) })).code).toBe(
      0,
    );
    await eventually(() => readyReason(cluster)).toBe("APINotInstalled");

    await cluster.kubectlOk(["apply", "--server-side", "-f", join(import.meta.dirname, "../../crds/v3")]);
    await eventually(() => storedCooldown(cluster)).toBe(12);
    await eventually(() => readyReason(cluster)).toBe("Succeeded");
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  });
});
