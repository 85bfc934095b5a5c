/** A release of the operator's chart on a real API server, from install to uninstall, and what is left of it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { everything } from "./everything.ts";
import { OPERATOR_CHART, objectsIn } from "./helm.ts";
import { PREVIOUS, PREVIOUS_VERSION } from "./previous.ts";
import { type Releases, releasesOn, wipe } from "./releases.ts";

let cluster: ControlPlane;
let releases: Releases;
beforeAll(async () => {
  cluster = await startControlPlane();
  releases = releasesOn(cluster);
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
});
afterAll(() => cluster?.stop());
afterEach(() => wipe(cluster, releases));

const get = (...args: string[]) => cluster.kubectlOk(["get", ...args]);
const version = () => get("deployment", "ipam-operator", "-n", "ipam-operator", "-o", "jsonpath={..image}");
const policyOfInstallation = () => get("ipaminst", "default", "-o", "jsonpath={.spec.managementPolicy}");
const firstInstallation = (ipam: object) => ({
  apiVersion: "ipam-operator.io/v1alpha1",
  kind: "Installation",
  metadata: { name: "default" },
  spec: { managementPolicy: "Observe", ipam },
});
const notes = (said: string) => said.split("NOTES:\n")[1]!.trim();
const ours = (name: string) => name.includes("ipam-operator");
const restart = { podAnnotations: { restarted: "once" } };

/** What the operator leaves on a cluster while it runs. */
async function runFor(subject: string): Promise<void> {
  await cluster.apply("rbac/viewer.yaml");
  const binding = ["--clusterrole=ipam-operator:viewer", `--group=${subject}`];
  await cluster.kubectlOk(["create", "clusterrolebinding", "ipam-operator:viewer", ...binding]);
  await cluster.kubectlOk([
    "label",
    "clusterrolebinding",
    "ipam-operator:viewer",
    "app.kubernetes.io/managed-by=ipam-operator",
  ]);
  await cluster.apply(`
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ipam-operator, namespace: ipam-operator}
spec: {holderIdentity: ""}
`);
  await cluster.apply(`
apiVersion: projectcalico.org/v3
kind: IPAMConfiguration
metadata: {name: default}
spec: {strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 0}
`);
}

describe("install, upgrade, rollback", () => {
  test("the notes are short, and name the commands for this release", async () => {
    const text = notes(await releases.operator("install", { hostNetwork: true }));
    expect(text.split("\n").length).toBeLessThanOrEqual(20);
    expect(text).toContain("helm test ipam-operator --namespace ipam-operator --logs");
  });

  test("the notes say what is open, and how to change that", async () => {
    const metricsNotes = async (metrics: object, verb: "install" | "upgrade" = "upgrade") =>
      notes(await releases.operator(verb, { metrics })).split("Open on each pod: ")[1];
    const byDefault = await metricsNotes({}, "install");
    expect(byDefault).toMatch(
      /^:8080\/metrics \(HTTPS, permitted callers only, self-signed .*:8081\/healthz and \/readyz/,
    );
    expect(byDefault).toContain("--clusterrole=ipam-operator:metrics-reader");
    expect(await metricsNotes({ certSecret: "a" })).toMatch(/^:8080\/metrics \(HTTPS, permitted callers only\),/);
    const readers = [{ kind: "User", name: "a" }];
    expect(await metricsNotes({ readers })).toContain("The subjects of metrics.readers may read metrics.");
    expect(await metricsNotes({ secure: false })).toMatch(/^:8080\/metrics \(plain HTTP, everybody\),/);
    expect(await metricsNotes({ enabled: false })).toContain("Metrics are not served.");
  });

  test("the notes name no test where there is none", async () => {
    const text = notes(await releases.operator("install", { tests: { enabled: false } }));
    expect(text).not.toContain("helm test");
    expect(text).toContain("kubectl rollout status deployment/ipam-operator --namespace ipam-operator");
  });

  test("the notes say what is there of the Installation, and what is missing", async () => {
    expect(notes(await releases.operator("install"))).toContain("install the chart ipam-operator-crds");
    await releases.crds("install");
    expect(notes(await releases.operator("upgrade"))).toContain("It waits for you to write the Installation");
    const unused = { installation: { ipam: { strictAffinity: true } } };
    const noEffect = "installation.ipam has no effect, because installation.create is false";
    expect(notes(await releases.operator("upgrade", unused))).toContain(noEffect);
    const reused = await releases.helmOk(["upgrade", "ipam-operator", OPERATOR_CHART, "--reuse-values"]);
    expect(notes(reused)).toContain(noEffect);
    const created = await releases.operator("upgrade", { installation: { create: true } });
    expect(notes(created)).toContain("It works on the Installation `default` (policy Observe)");
    await cluster.apply("examples/installation.yaml");
    const kept = notes(await releases.operator("upgrade", unused));
    for (const said of ["`default` (policy Enforce)", noEffect]) expect(kept).toContain(said);
  });

  test.each([
    ["serviceMonitor", "ServiceMonitor"],
    ["prometheusRule", "PrometheusRule"],
  ])("no metrics.%s without its CRD: refused by the name of the value", async (value, kind) => {
    const values = { metrics: { [value]: { enabled: true } } };
    const { code, stderr } = await releases.helm(["install", "ipam-operator", OPERATOR_CHART], values);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `metrics.${value}.enabled needs the CRD of ${kind}, and this cluster does not have it: ` +
        "install the Prometheus operator first, or set it to false",
    );
  });

  test("from the previous version to this one, back, and on again", async () => {
    await releases.crds("install", { ipamCRDs: "v3" }, PREVIOUS.crds);
    await releases.operator("install", {}, PREVIOUS.operator);
    expect(await version()).toBe(`ipam-operator:${PREVIOUS_VERSION}`);
    await releases.crds("upgrade", { ipamCRDs: "v3" });
    await releases.operator("upgrade");
    const current = await version();
    expect(current).not.toBe(`ipam-operator:${PREVIOUS_VERSION}`);
    await releases.helmOk(["rollback", "ipam-operator", "1"]);
    expect(await version()).toBe(`ipam-operator:${PREVIOUS_VERSION}`);
    await releases.operator("upgrade");
    expect(await version()).toBe(current);
  });

  test("the first Installation is created once, and then the user's", async () => {
    await releases.crds("install");
    const values = { installation: { create: true } };
    await releases.operator("install", values);
    expect(await policyOfInstallation()).toBe("Observe");
    await cluster.kubectlOk([
      "patch",
      "ipaminst",
      "default",
      "--type=merge",
      "-p",
      '{"spec":{"managementPolicy":"Enforce"}}',
    ]);
    const uid = await get("ipaminst", "default", "-o", "jsonpath={.metadata.uid}");
    await releases.operator("upgrade", { ...values, ...restart });
    await releases.helmOk(["rollback", "ipam-operator", "1"]);
    await releases.operator("upgrade", { installation: { create: false } });
    expect(await policyOfInstallation()).toBe("Enforce");
    expect(await get("ipaminst", "default", "-o", "jsonpath={.metadata.uid}")).toBe(uid);
    await releases.helmOk(["uninstall", "ipam-operator"]);
    expect(await policyOfInstallation()).toBe("Enforce");
    await releases.operator("install", values);
    expect(await policyOfInstallation()).toBe("Enforce");
  });

  test("an Installation that was there before is not touched", async () => {
    await releases.crds("install");
    await cluster.apply("examples/installation.yaml");
    await releases.operator("install", { installation: { create: true } });
    expect(await policyOfInstallation()).toBe("Enforce");
    expect(await get("ipaminst", "default", "-o", "jsonpath={.metadata.generation}")).toBe("1");
  });

  test("no first Installation without its CRD: refused before anything is installed", async () => {
    const values = { installation: { create: true } };
    const { code, stderr } = await releases.helm(["install", "ipam-operator", OPERATOR_CHART], values);
    expect(code).toBe(1);
    expect(stderr).toContain(
      "installation.create needs the CRD of Installation, and this cluster does not have it: " +
        "install the chart ipam-operator-crds first, or set installation.create: false",
    );
    expect((await everything(cluster)).filter(ours)).toEqual(["Namespace ipam-operator"]);
  });

  test("a first Installation that breaks a rule is refused before anything is installed", async () => {
    await releases.crds("install");
    const stored = async () => (await everything(cluster)).filter((name) => !name.startsWith("APIService "));
    const before = await stored();
    const values = { installation: { create: true, ipam: { maxBlocksPerHost: 8, strictAffinity: false } } };
    const { code, stderr } = await releases.helm(["install", "ipam-operator", OPERATOR_CHART], values);
    expect(code).toBe(1);
    expect(stderr).toContain("installation.ipam: MaxBlocksPerHost requires StrictAffinity to be enabled");
    expect(await stored()).toEqual(before);
  });

  test("the chart takes a first Installation where the API server takes it", async () => {
    await releases.crds("install");
    await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", "crds", "--all"]);
    const choices = [undefined, true, false];
    const settings = choices.flatMap((strictAffinity) =>
      choices.flatMap((autoAllocateBlocks) =>
        [undefined, 0, 8].map((maxBlocksPerHost) => ({ strictAffinity, autoAllocateBlocks, maxBlocksPerHost })),
      ),
    );
    for (const ipam of settings) {
      const installation = { create: true, ipam };
      const chart = await releases.helm(["template", "ipam-operator", OPERATOR_CHART], { installation });
      const input = JSON.stringify(firstInstallation(ipam));
      const apiServer = await cluster.kubectl(["create", "--dry-run=server", "--filename", "-"], { input });
      const words = /(Cannot disable|MaxBlocksPerHost requires).*/;
      expect([chart.code, words.exec(chart.stderr)?.[0]]).toEqual([apiServer.code, words.exec(apiServer.stderr)?.[0]]);
    }
  });

  test("a second operator is refused: the first one's objects are not taken over", async () => {
    await releases.operator("install");
    const args = ["install", "other", OPERATOR_CHART, "--namespace", "other", "--create-namespace"];
    const { code, stderr } = await releases.helm(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/exists and cannot be imported into the current release/);
  });
});

describe("uninstall", () => {
  const LEFT = [
    "ClusterRole ipam-operator:viewer",
    "ClusterRoleBinding ipam-operator:viewer",
    "IPAMConfiguration default",
    "Installation default",
  ];

  async function leftAfter(values: object): Promise<string[]> {
    await releases.crds("install", { ipamCRDs: "v3" });
    await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", "crds", "--all"]);
    const before = new Set(await everything(cluster));
    await releases.operator("install", { installation: { create: true }, ...values });
    await runFor("on-call");
    await releases.helmOk(["uninstall", "ipam-operator"]);
    return (await everything(cluster)).filter((name) => !before.has(name));
  }

  test("leaves the configuration and the roles that others use, and nothing else", async () => {
    expect(await leftAfter({})).toEqual(LEFT);
  });

  test("leaves nothing of a release that had everything", async () => {
    const subjects = { viewer: [{ kind: "Group", name: "on-call" }] };
    const metrics = { dashboard: { enabled: true } };
    expect(await leftAfter({ rbac: { subjects }, metrics, networkPolicy: { enabled: true } })).toEqual(LEFT);
  });

  test("takes the roles along when told to", async () => {
    expect(await leftAfter({ rbac: { deleteOnUninstall: true } })).toEqual([
      "IPAMConfiguration default",
      "Installation default",
    ]);
  });

  test("leaves a role of that name that is somebody else's", async () => {
    await cluster.kubectlOk(["create", "clusterrole", "ipam-operator:editor", "--verb=get", "--resource=pods"]);
    await releases.operator("install", { rbac: { deleteOnUninstall: true } });
    await releases.helmOk(["uninstall", "ipam-operator"]);
    expect(await get("clusterrole", "ipam-operator:editor", "-o", "jsonpath={.rules[0].verbs[0]}")).toBe("get");
  });

  test("needs neither CRDs nor anything that runs", async () => {
    await releases.operator("install");
    await releases.helmOk(["uninstall", "ipam-operator"]);
    expect((await everything(cluster)).filter(ours)).toEqual(["Namespace ipam-operator"]);
  });

  test("hooks are no objects of the release: what an upgrade changes is what the manifest says", async () => {
    await releases.operator("install", { rbac: { deleteOnUninstall: true } });
    const kinds = objectsIn(await releases.helmOk(["get", "manifest", "ipam-operator"])).map(({ kind }) => kind);
    expect(kinds).not.toContain("Lease");
    expect(await everything(cluster)).not.toContain("ClusterRole ipam-operator:viewer");
  });
});
