/** The pods that the chart starts: their flags, image and place, and what they may do on a node. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { type OperatorOptions, parseOptions } from "../../src/operator/options.ts";
import { helmOk, OPERATOR_CHART, only } from "./helm.ts";
import { containerOf, deploymentOf, optionsOf, podOf, rendered } from "./rendered.ts";
import { restrictedViolations } from "./restricted.ts";
import { TOGGLES } from "./toggles.ts";

test("without values the flags are the operator's own defaults, but that metrics are for permitted callers", async () => {
  const own = parseOptions([], {}) as OperatorOptions;
  expect(await optionsOf()).toEqual({ ...own, metricsSecure: true, logLevel: "info", logEncoding: "json" });
});

test("each value of a flag arrives", async () => {
  const values: OperatorValues = {
    operator: {
      datastore: "v1",
      concurrent: 3,
      resyncPeriod: "1h",
      reconcileTimeout: "30s",
      gracefulShutdownTimeout: "20s",
      kubeApiQps: 100_000,
      kubeApiBurst: 200_000,
      watchIdleTimeout: "1m30s",
      discoveryPeriod: "500ms",
    },
    logs: { level: "debug", encoding: "text" },
    leaderElection: { leaseDuration: "30s", renewDeadline: "20s", retryPeriod: "4s", releaseOnCancel: false },
    metrics: { port: 9090 },
    probes: { port: 9091 },
  };
  expect(await optionsOf(values)).toMatchObject({
    datastore: "v1",
    concurrent: 3,
    resyncPeriod: 3_600_000,
    reconcileTimeout: 30_000,
    gracefulShutdownTimeout: 20_000,
    kubeApiQps: 100_000,
    kubeApiBurst: 200_000,
    watchIdleTimeout: 90_000,
    discoveryPeriod: 500,
    logLevel: "debug",
    logEncoding: "text",
    leaderElect: true,
    leaderElectLeaseDuration: 30_000,
    leaderElectRenewDeadline: 20_000,
    leaderElectRetryPeriod: 4000,
    leaderElectReleaseOnCancel: false,
    metricsBindAddress: { port: 9090 },
    healthProbeBindAddress: { port: 9091 },
  });
});

test("feature gates are given only where there are some", async () => {
  expect((await containerOf()).args.join(" ")).not.toContain("--feature-gates");
  expect((await containerOf({ operator: { featureGates: "New=true" } })).args).toContain("--feature-gates=New=true");
});

test("the image is named by tag, by default this version's, or by digest", async () => {
  const { version } = parse(await helmOk(["show", "chart", OPERATOR_CHART])) as { version: string };
  const imagesOf = async (image: OperatorValues["image"]) => {
    const objects = await rendered({ image });
    const pods = [only(objects, "Deployment")["spec"].template, only(objects, "Pod")];
    return [...new Set(pods.map(({ spec }) => spec.containers[0].image))];
  };
  expect(await imagesOf({})).toEqual([`ipam-operator:${version}`]);
  expect(await imagesOf({ repository: "a.example/b", tag: "c" })).toEqual(["a.example/b:c"]);
  const digest = `sha256:${"a".repeat(64)}`;
  expect(await imagesOf({ tag: "c", digest })).toEqual([`ipam-operator@${digest}`]);
});

/** Each pod of the chart, the one of the `helm test` hook included. */
const podsOf = async (values: OperatorValues) =>
  (await rendered(values)).flatMap(({ kind, spec }) =>
    kind === "Pod" ? [spec] : kind === "Deployment" ? [spec.template.spec] : [],
  );

test.each([
  ["ipam-operator", "mirror.example/ipam-operator"],
  ["a.example/b", "mirror.example/b"],
  ["a.example:5000/b/c", "mirror.example/b/c"],
  ["localhost/b", "mirror.example/b"],
  ["team/b", "mirror.example/team/b"],
])("global.imageRegistry replaces the registry of %s in every pod, or is put before it", async (repository, image) => {
  const values = { global: { imageRegistry: "mirror.example" }, image: { repository, tag: "1" } };
  const pods = await podsOf(values);
  expect(pods.map(({ containers }) => containers[0].image)).toEqual([`${image}:1`, `${image}:1`]);
});

test("global.imageRegistry may have a port and a path, and keeps the digest", async () => {
  const digest = `sha256:${"a".repeat(64)}`;
  const pods = await podsOf({ global: { imageRegistry: "mirror.example:5000/hub" }, image: { digest } });
  for (const { containers } of pods)
    expect(containers[0].image).toBe(`mirror.example:5000/hub/ipam-operator@${digest}`);
});

test("global.imagePullSecrets, as names or objects, precede the chart's own in every pod, each once", async () => {
  const pods = await podsOf({
    global: { imagePullSecrets: ["a", { name: "b" }] },
    image: { pullSecrets: [{ name: "b" }, { name: "c" }] },
  });
  expect(pods).toHaveLength(2);
  for (const { imagePullSecrets } of pods)
    expect(imagePullSecrets).toEqual([{ name: "a" }, { name: "b" }, { name: "c" }]);
  for (const { imagePullSecrets } of await podsOf({})) expect(imagePullSecrets).toBeUndefined();
});

test("pods spread over nodes, also where these have no zones, and prefer zones of their own", async () => {
  const { topologySpreadConstraints: standard, affinity } = await podOf();
  // One that names a label that no node has would void the others too.
  const keys = standard.map(({ topologyKey }: { topologyKey: string }) => topologyKey);
  expect(keys).toEqual(["kubernetes.io/hostname"]);
  const [{ podAffinityTerm: term }] = affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
  expect(term.topologyKey).toBe("topology.kubernetes.io/zone");
  expect(term.labelSelector).toEqual((await deploymentOf())["spec"].selector);
  const own = { nodeAffinity: {} };
  expect((await podOf({ affinity: own })).affinity).toEqual(own);
});

test("a spread constraint is about the release's pods, unless it has its own selector", async () => {
  const { topologySpreadConstraints: standard } = await podOf();
  const selector = (await deploymentOf())["spec"].selector;
  for (const constraint of standard) expect(constraint.labelSelector).toEqual(selector);
  const own = { maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway", labelSelector: {} as object };
  own.labelSelector = { matchLabels: { a: "b" } };
  expect((await podOf({ topologySpreadConstraints: [own] })).topologySpreadConstraints).toEqual([own]);
});

test("a pod may wait on the nodes of a cluster that is coming up", async () => {
  const { tolerations } = await podOf();
  const keys = tolerations.map(({ key }: { key: string }) => key);
  expect(keys).toContain("node.kubernetes.io/not-ready");
  expect(keys).toContain("node.kubernetes.io/network-unavailable");
});

test("on the node's network a new pod waits for the ports of an old one", async () => {
  const { spec } = await deploymentOf({ hostNetwork: true });
  expect(spec.template.spec).toMatchObject({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" });
  expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  expect((await deploymentOf())["spec"].strategy.rollingUpdate).toEqual({ maxSurge: "100%", maxUnavailable: 0 });
});

test.each(Object.entries(TOGGLES))("%s: its pods satisfy the restricted Pod Security Standard", async (_, toggle) => {
  const objects = await rendered(toggle.values);
  const pods = [only(objects, "Deployment")["spec"].template, ...objects.filter(({ kind }) => kind === "Pod")];
  const violations = pods.flatMap(({ spec }) => restrictedViolations(spec));
  expect(violations).toEqual(toggle.values.hostNetwork ? ["hostNetwork is true"] : []);
});

test("nothing is written to the pod's own files, and there is no limit on the CPU", async () => {
  const { securityContext, resources, volumeMounts = [] } = await containerOf();
  expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true });
  expect(volumeMounts).toEqual([]);
  expect(Object.keys(resources.limits)).toEqual(["memory"]);
  expect(Object.keys(resources.requests).sort()).toEqual(["cpu", "memory"]);
});

test("liveness is /healthz and readiness is /readyz, on the port of the probes", async () => {
  const { livenessProbe, readinessProbe, ports } = await containerOf({ probes: { port: 9091 } });
  expect(livenessProbe.httpGet).toEqual({ path: "/healthz", port: "probes" });
  expect(readinessProbe.httpGet).toEqual({ path: "/readyz", port: "probes" });
  expect(ports).toContainEqual({ name: "probes", containerPort: 9091 });
});

test("a pod has longer to stop than the operator takes", async () => {
  const { terminationGracePeriodSeconds } = await podOf();
  expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan((await optionsOf()).gracefulShutdownTimeout);
});
