/** Values that the chart refuses, and the words it does it in: they name the value and what would be right. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseOptions } from "../../src/operator/options.ts";
import { CRDS_CHART, OPERATOR_CHART, refusal, renderText, type Values } from "./helm.ts";
import { containerOf } from "./rendered.ts";

/** What is wrong with the values, and what Helm's answer contains. */
const REFUSED: Readonly<Record<string, readonly [values: Values, ...words: string[]]>> = {
  "an unknown value": [{ replicaCount: 3 }, "additional properties 'replicaCount' not allowed"],
  "a misspelt value of a group": [
    { operator: { concurent: 3 } },
    "at '/operator': additional properties 'concurent' not allowed",
  ],
  "a setting that no Installation has": [
    { installation: { ipam: { maxBlocks: 8 } } },
    "at '/installation/ipam': additional properties 'maxBlocks' not allowed",
  ],
  "a role that the operator does not keep": [
    { rbac: { subjects: { admin: [] } } },
    "at '/rbac/subjects': additional properties 'admin' not allowed",
  ],
  "a subject without a name": [
    { rbac: { subjects: { viewer: [{ kind: "User" }] } } },
    "/rbac/subjects/viewer/0': missing property 'name'",
  ],
  "no replicas": [{ replicas: 0 }, "at '/replicas': minimum: got 0, want 1"],
  "a duration without a unit": [
    { operator: { resyncPeriod: "10" } },
    "at '/operator/resyncPeriod': '10' does not match",
  ],
  "a log level that there is not": [
    { logs: { level: "loud" } },
    "at '/logs/level': value must be one of 'trace', 'debug', 'info', 'warn', 'error'",
  ],
  "an embedded datastore": [
    { operator: { datastore: "embedded:x" } },
    "at '/operator/datastore': value must be one of 'auto', 'v1', 'v3'",
  ],
  "another admission policy": [
    { admissionPolicy: "Refuse" },
    "at '/admissionPolicy': value must be one of 'Deny', 'Warn', 'off'",
  ],
  "another policy for block sizes": [{ blockSizePolicy: true }, "at '/blockSizePolicy': got boolean, want string"],
  "a policy that no Installation has": [
    { installation: { managementPolicy: "Force" } },
    "at '/installation/managementPolicy': value must be one of 'Observe', 'Enforce', 'Paused'",
  ],
  "a digest that is none": [{ image: { digest: "latest" } }, "at '/image/digest': 'latest' does not match pattern"],
  "text for a number": [{ metrics: { port: "http" } }, "at '/metrics/port': got string, want integer"],
  "two leaders": [
    { leaderElection: { enabled: false } },
    "leaderElection.enabled is false, and two operators would work at once: " +
      "set replicas: 1, or leaderElection.enabled: true",
  ],
  "a budget that no drain can keep": [
    { podDisruptionBudget: { minAvailable: 2 } },
    "podDisruptionBudget.minAvailable is 2 of 2 replicas, and no node could be drained: set it to less than replicas",
  ],
  "one port for two": [{ metrics: { port: 8081 } }, "metrics.port and probes.port are both 8081: give each its own"],
  "a certificate for plain HTTP": [
    { metrics: { secure: false, certSecret: "a" } },
    "metrics.certSecret is only used with metrics.secure: leave it out, or do not set metrics.secure to false",
  ],
  "readers of plain HTTP": [
    { metrics: { secure: false, readers: [{ kind: "User", name: "a" }] } },
    "metrics.readers is only used with metrics.secure",
  ],
  "a certificate of metrics that are not served": [
    { metrics: { enabled: false, certSecret: "a" } },
    "metrics.certSecret is set and metrics.enabled is false: enable them, or leave it out",
  ],
  "an image without a name": [{ image: { repository: "" } }, "at '/image/repository': '' does not match pattern"],
  "a tag in the image's name": [
    { image: { repository: "registry.example:5000/ipam-operator:1.0" } },
    "at '/image/repository': 'registry.example:5000/ipam-operator:1.0' does not match pattern",
  ],
  "a ServiceAccount without a name": [
    { serviceAccount: { name: "" } },
    "at '/serviceAccount/name': '' does not match pattern",
  ],
  "a tag that no image has": [
    { image: { tag: "v1@sha256:0" } },
    "at '/image/tag': 'v1@sha256:0' does not match pattern",
  ],
  "a flag that a value sets": [
    { extraArgs: ["--context=x", "--leader-elect=false"] },
    "extraArgs has --leader-elect, which the chart sets itself: use leaderElection.enabled",
  ],
  "a flag that a value sets, apart from what it is set to": [
    { extraArgs: ["--metrics-bind-address", ":9999"] },
    "extraArgs has --metrics-bind-address, which the chart sets itself: use metrics.port",
  ],
  "an argument that is none": [{ extraArgs: [""] }, "at '/extraArgs/0': minLength: got 0, want 1"],
  "environment variables without a name, and of no text": [
    { extraEnv: [{ nme: "A" }, { name: "A", value: 1 }] },
    "at '/extraEnv/0': missing property 'name'",
    "at '/extraEnv/1/value': got number, want string",
  ],
  "a policy that cuts the operator off": [
    { networkPolicy: { enabled: true, apiServerPorts: [] } },
    "networkPolicy.apiServerPorts is empty, and the operator could not reach the API server: name its ports",
  ],
  "a first Installation that may not allocate": [
    { installation: { create: true, ipam: { strictAffinity: false, autoAllocateBlocks: false } } },
    "installation.ipam: Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks' at the same time; set",
  ],
  "settings for an Installation that is not created": [
    { installation: { ipam: { maxBlocksPerHost: 8 } } },
    "installation.ipam is set and installation.create is false, so the settings would have no effect: " +
      "set installation.create: true, or write them into the Installation and leave installation.ipam out",
  ],
  "a global registry that is a URL": [
    { global: { imageRegistry: "https://mirror.example/" } },
    "at '/global/imageRegistry': 'https://mirror.example/' does not match pattern",
  ],
  "a global pull secret without a name": [
    { global: { imagePullSecrets: [{ nme: "a" }] } },
    "at '/global/imagePullSecrets/0'",
  ],
  "labels, annotations and selectors that are no texts": [
    {
      podLabels: { a: 1 },
      podAnnotations: { b: true },
      nodeSelector: { c: false },
      service: { annotations: { d: 1 } },
      serviceAccount: { annotations: { e: 1 } },
      metrics: { dashboard: { labels: { f: 1 } }, serviceMonitor: { labels: { g: 1 } } },
    },
    "at '/podLabels/a': got number, want string",
    "at '/podAnnotations/b': got boolean, want string",
    "at '/nodeSelector/c': got boolean, want string",
    "at '/service/annotations/d': got number, want string",
    "at '/serviceAccount/annotations/e': got number, want string",
    "at '/metrics/dashboard/labels/f': got number, want string",
    "at '/metrics/serviceMonitor/labels/g': got number, want string",
  ],
  "a label that the chart sets": [
    { podLabels: { "app.kubernetes.io/name": "mine" } },
    "podLabels has app.kubernetes.io/name, which the chart sets itself: leave it out",
  ],
  "a label of the dashboard that the chart sets": [
    { metrics: { dashboard: { labels: { "helm.sh/chart": "mine" } } } },
    "metrics.dashboard.labels has helm.sh/chart, which the chart sets itself: leave it out",
  ],
  "an annotation that the chart sets": [
    { podAnnotations: { "kubectl.kubernetes.io/default-container": "mine" } },
    "podAnnotations has kubectl.kubernetes.io/default-container, which the chart sets itself: leave it out",
  ],
  "a pod that is killed before it has stopped": [
    { operator: { gracefulShutdownTimeout: "30s" } },
    "terminationGracePeriodSeconds is 30, and a pod would be killed before operator.gracefulShutdownTimeout (30s) is " +
      "over: set the first to more, or the second to less",
  ],
  "a lease that ends before it is given up": [
    { leaderElection: { leaseDuration: "5s" } },
    "leaderElection.leaseDuration (5s) must be longer than renewDeadline (10s), and that longer than 1.2 times " +
      "retryPeriod (2s): change one of them",
  ],
  "a monitor of nothing": [
    { metrics: { enabled: false, serviceMonitor: { enabled: true } } },
    "metrics.serviceMonitor.enabled needs metrics.enabled: true",
  ],
  "alerts on nothing": [
    { metrics: { enabled: false, prometheusRule: { enabled: true } } },
    "metrics.prometheusRule.enabled needs metrics.enabled: true",
  ],
};

test.each(Object.entries(REFUSED))("%s", async (_name, [values, ...words]) => {
  const said = await refusal(OPERATOR_CHART, values);
  for (const word of words) expect(said).toContain(word);
});

test.each([
  ["15s", "10s", "2s"],
  ["10s", "10s", "2s"],
  ["10001ms", "10s", "2s"],
  ["1h", "2.4s", "2s"],
  ["1h", "2.5s", "2s"],
  ["1m30s", "1.5m", "2s"],
  ["1m31s", "1.5m", "2s"],
])("lease %s, deadline %s, retry %s: the chart takes what the operator takes", async (lease, deadline, retry) => {
  const flags = { "lease-duration": lease, "renew-deadline": deadline, "retry-period": retry };
  const args = Object.entries(flags).map(([name, value]) => `--leader-elect-${name}=${value}`);
  const values = { leaderElection: { leaseDuration: lease, renewDeadline: deadline, retryPeriod: retry } };
  const taken = await renderText(OPERATOR_CHART, values).catch(() => undefined);
  expect(taken !== undefined).toBe(starts(args));
});

function starts(args: readonly string[]): boolean {
  try {
    parseOptions(args, {});
    return true;
  } catch {
    return false;
  }
}

test("no argument sets again what the chart sets", async () => {
  const all = {
    metrics: { secure: true, certSecret: "a" },
    rbac: { subjects: { viewer: [{ kind: "Group" as const, name: "a" }] } },
    operator: { featureGates: "A=true: b #c" },
  };
  const { args } = (await containerOf(all)) as { args: string[] };
  expect(args).toContain("--feature-gates=A=true: b #c");
  for (const flag of args.map((one) => one.split("=")[0]!))
    expect(await refusal(OPERATOR_CHART, { extraArgs: [flag] })).toContain(
      `extraArgs has ${flag}, which the chart sets`,
    );
});

test.each(["0s", "0.4ms", "501h", "596h32m", "3000000h", "99999999h"])(
  "no timer holds the duration %s: the chart says so as the operator does",
  async (time) => {
    expect(starts([`--resync-period=${time}`])).toBe(false);
    const words = `operator.resyncPeriod is ${time}: give a time from 1ms to 500h`;
    expect(await refusal(OPERATOR_CHART, { operator: { resyncPeriod: time } })).toContain(words);
  },
);

test("what is wrong is all named at once", async () => {
  const said = await refusal(OPERATOR_CHART, { replicas: 0, logs: { level: "loud" }, more: true });
  for (const place of ["/replicas", "/logs/level", "'more'"]) expect(said).toContain(place);
});

/** Every value, by the names that lead to it: groups first, then what they contain. */
const pathsIn = (values: object, above: readonly string[] = []): string[][] =>
  Object.entries(values).flatMap(([name, value]) => {
    const path = [...above, name];
    return [path, ...(isGroup(value) ? pathsIn(value, path) : [])];
  });
const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const nullAt = (path: readonly string[]): Values =>
  path.reduceRight<unknown>((value, name) => ({ [name]: value }), null) as Values;

test.each([OPERATOR_CHART, CRDS_CHART])("a value that is null is none, or is asked for by name: %s", async (chart) => {
  const defaults = parse(readFileSync(join(chart, "values.yaml"), "utf8"));
  for (const path of pathsIn(defaults)) {
    const said = await renderText(chart, nullAt(path)).catch(String);
    if (said.includes("ended with 1")) expect(said).toContain(`missing property '${path.at(-1)}'`);
  }
});

test("a group that is null is asked for", async () => {
  expect(await refusal(OPERATOR_CHART, { logs: null })).toContain("missing property 'logs'");
  expect(await refusal(OPERATOR_CHART, { metrics: { serviceMonitor: null } })).toContain(
    "at '/metrics': missing property 'serviceMonitor'",
  );
});

test("the CRDs' chart refuses what it does not know too", async () => {
  expect(await refusal(CRDS_CHART, { ipamCrds: "v1" })).toContain("additional properties 'ipamCrds' not allowed");
  expect(await refusal(CRDS_CHART, { ipamCRDs: "v2" })).toContain(
    "at '/ipamCRDs': value must be one of 'none', 'v1', 'v3'",
  );
});
