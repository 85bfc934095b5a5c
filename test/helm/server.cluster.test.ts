/** Every toggle of the chart before a real API server: its schemas, its admission, its Pod Security Standard. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { CRDS_CHART, only, renderText } from "./helm.ts";
import { rendered, renderedText } from "./rendered.ts";
import { TOGGLES } from "./toggles.ts";

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  const crds = join(import.meta.dirname, "monitoring-crds.yaml");
  await cluster.apply(crds);
  await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", "--filename", crds]);
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
});
afterAll(() => cluster?.stop());

const dryRun = (text: string) =>
  cluster.kubectl(["apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename", "-"], {
    input: text,
  });

/** The namespace admits what satisfies this level, and warns of what does not satisfy it. */
async function podSecurity(level: "restricted" | "privileged"): Promise<void> {
  const labels = ["enforce", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}=${level}`);
  await cluster.kubectlOk(["label", "namespace", "ipam-operator", "--overwrite", ...labels]);
}

test.each(Object.entries(TOGGLES))("%s: is accepted without a warning", async (_name, { values }) => {
  await podSecurity(values.hostNetwork ? "privileged" : "restricted");
  const { code, stdout, stderr } = await dryRun(await renderedText(values));
  expect(stderr).toBe("");
  expect({ code, lines: stdout.trim().split("\n").length }).toEqual({
    code: 0,
    lines: (await rendered(values)).length,
  });
});

test.each(["none", "v1", "v3"] as const)("the CRDs, ipamCRDs: %s, are accepted", async (ipamCRDs) => {
  const { code, stderr } = await dryRun(await renderText(CRDS_CHART, { ipamCRDs }));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("the API server itself lets the operator's pod into a restricted namespace, and would not let in another", async () => {
  await podSecurity("restricted");
  const { metadata, spec } = only(await rendered(), "Deployment")["spec"].template;
  const pod = (changed: object) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: "one", namespace: "ipam-operator" },
    spec: { ...spec, ...changed },
  });
  expect(await dryRun(stringify(pod({})))).toMatchObject({ code: 0, stderr: "" });
  const refused = await dryRun(stringify(pod({ securityContext: {} })));
  expect(refused.stderr).toMatch(/violates PodSecurity "restricted:latest": runAsNonRoot != true.*, seccompProfile/);
});

test("a value that the schema leaves to the API server is refused there, by the name of its field", async () => {
  const text = await renderedText({ tolerations: [{ effekt: "NoSchedule" }] });
  expect((await dryRun(text)).stderr).toMatch(/effekt: field not declared in schema|unknown field.*effekt/);
});
