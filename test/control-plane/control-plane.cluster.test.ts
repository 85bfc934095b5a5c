/** The control plane keeps its promises: real RBAC, real audit, kept data over a restart, nothing left behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 10_000 });
const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: config-map-reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: config-map-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: config-map-reader}
subjects: [{kind: ServiceAccount, namespace: readers, name: reader}]
`;

describe("a control plane", () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster.stop());

  it("lets the admin in by token and by client certificate", async () => {
    expect(await cluster.kubectlOk(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"])).toBe("admin");
    const kubeconfig = await cluster.clientCertKubeconfig();
    const whoami = ["--kubeconfig", kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    expect(await cluster.kubectlOk(whoami)).toBe("certificate-admin");
    expect((await cluster.kubectlOk(["--kubeconfig", kubeconfig, "auth", "can-i", "*", "*"])).trim()).toBe("yes");
  });

  it("is the version whose source the modules name", async () => {
    expect(await cluster.kubectlOk(["get", "--raw", "/version"])).toContain('"gitVersion": "v1.36.');
  });

  it("forbids jane, and the audit log says so", async () => {
    const { code, stderr } = await cluster.kubectl(["get", "configmaps", "-A"], { token: cluster.janeToken });
    expect(code).toBe(1);
    expect(stderr).toContain('User "jane" cannot list resource "configmaps"');
    const denied = (await cluster.auditLog()).filter(({ user }) => user.username === "jane");
    const call = denied.find(({ objectRef }) => objectRef?.resource === "configmaps");
    expect(call).toMatchObject({ verb: "list", responseStatus: { code: 403 } });
    expect(call?.annotations?.["authorization.k8s.io/decision"]).toBe("forbid");
  });

  it("gives a ServiceAccount exactly what its role says", async () => {
    await cluster.apply(role);
    const token = await cluster.serviceAccountToken("readers", "reader", { create: true });
    const list = () => cluster.kubectl(["get", "configmaps", "-A"], { token });
    await eventually(async () => (await list()).code).toBe(0);
    const { stderr } = await cluster.kubectl(["get", "secrets", "-A"], { token });
    expect(stderr).toContain('User "system:serviceaccount:readers:reader" cannot list resource "secrets"');
  });

  it("says what is wrong when a token is asked of a ServiceAccount that is not there", async () => {
    await expect(cluster.serviceAccountToken("default", "nobody")).rejects.toThrow(
      /: 404 .*serviceaccounts.*nobody.*not found/,
    );
  });

  it("throws from kubectlOk with what kubectl said", async () => {
    await expect(cluster.kubectlOk(["get", "configmap", "absent"])).rejects.toThrow('configmaps "absent" not found');
  });

  it("keeps data, tokens and the audit log over a restart of the API server", async () => {
    await cluster.kubectlOk(["create", "configmap", "kept", "--from-literal=a=b"]);
    await cluster.restartApiServer();
    expect(await cluster.kubectlOk(["get", "configmap", "kept", "-o", "jsonpath={.data.a}"])).toBe("b");
    const creates = (await cluster.auditLog()).filter(
      ({ verb, objectRef }) => verb === "create" && objectRef?.name === "kept",
    );
    expect(creates).toHaveLength(1);
  });

  it("is away while its API server is stopped", async () => {
    await cluster.stopApiServer();
    const { code, stderr } = await cluster.kubectl(["get", "namespaces"]);
    expect(code).toBe(1);
    expect(stderr).toContain("refused");
    await cluster.startApiServer();
    expect((await cluster.kubectl(["get", "namespaces"])).code).toBe(0);
  });
});

it("starts empty beside another one, and leaves neither process nor file behind", async () => {
  const [first, second] = await Promise.all([startControlPlane(), startControlPlane()]);
  await first.kubectlOk(["create", "namespace", "only-here"]);
  expect(await second.kubectlOk(["get", "namespaces", "-o", "name"])).not.toContain("only-here");
  const pids = [...first.pids(), ...second.pids()];
  expect(pids).toHaveLength(4);
  await second.stopApiServer();
  await Promise.all([first.stop(), second.stop()]);
  await first.stop(); // once more does no harm
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect([existsSync(first.dir), existsSync(second.dir)]).toEqual([false, false]);
  await expect(fetch(first.server)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
});

it("dies with the process that started it, even one that is killed", async () => {
  const script = `import { startControlPlane } from "${import.meta.dirname}/control-plane.ts";
    const { dir, server } = await startControlPlane();
    console.log(JSON.stringify({ dir, server }));
    setInterval(() => {}, 1000);`;
  const args = ["--input-type=module", "--eval", script];
  const starter = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(starter.stdout), "line");
  const { dir, server }: { dir: string; server: string } = JSON.parse(line);
  expect(existsSync(dir)).toBe(true);
  starter.kill("SIGKILL");
  await eventually(() => existsSync(dir)).toBe(false);
  await eventually(() => fetch(server).catch(({ cause }) => cause.code)).toBe("ECONNREFUSED");
});

it("serves both generations of the kinds when asked to", async () => {
  const cluster = await startControlPlane({ crds: "both" });
  const kinds = await cluster.kubectlOk(["api-resources", "-o", "name"]).finally(() => cluster.stop());
  expect(kinds.split("\n")).toEqual(
    expect.arrayContaining([
      "ipaminstallations.ipam-operator.io",
      "ipamconfigs.crd.projectcalico.org",
      "ipamconfigurations.projectcalico.org",
    ]),
  );
});

it("says what kube-apiserver printed when it cannot start", async () => {
  await expect(startControlPlane({ args: ["--no-such-flag"] })).rejects.toThrow("unknown flag: --no-such-flag");
});
