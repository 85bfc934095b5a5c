/**
 * The values of both charts, once each, as zod schemas: values.yaml, values.schema.json and the table in the README are
 * made from them. A value's default is what values.yaml shows; its description is its comment there.
 */
import { z } from "zod";
import { GRANTED_ROLES } from "../../rbac/permissions.ts";
import { subject, subjectsFile } from "../../rbac/subjects.ts";
import { installationSpec, ipamSettings } from "../../src/api/installation.ts";
import { flagValues } from "./flags.ts";
import { placement, podSecurity, resources } from "./pod-values.ts";
import { anyObject, group, listOf, port, text, texts, toggle } from "./value-types.ts";

/** Shared with the other charts of a release: what others read from it is not ours to refuse. */
const global = z
  .looseObject({
    imageRegistry: z
      .string()
      .regex(/^([A-Za-z0-9.-]+(:[0-9]+)?(\/[a-z0-9._-]+)*)?$/)
      .default("")
      .describe("Replaces the registry of image.repository, such as mirror.example.com:5000."),
    imagePullSecrets: listOf(
      z.union([z.string().min(1), z.looseObject({ name: z.string().min(1) })]),
      [],
      "Secrets for pulling images, used before image.pullSecrets: a list of names or of {name: …}.",
    ),
  })
  .prefault({})
  .describe("Values for every chart of a release, set by the chart that contains this one or directly.");

/** A strict schema must know it, or no chart could make the dependency conditional by the usual name. */
const enabled = toggle(
  true,
  "For a chart that contains this one: what `condition` of the dependency names. False where no condition reads it is refused.",
);

const image = group("The operator's image.", {
  repository: z
    .string()
    .regex(/^([^/@\s]+\/)?[a-z0-9._/-]+$/)
    .default("ipam-operator")
    .describe("Registry and name, without tag or digest."),
  tag: z
    .string()
    .regex(/^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$/)
    .default("")
    .describe("Tag; the chart's appVersion when empty."),
  digest: z
    .string()
    .regex(/^(sha256:[0-9a-f]{64})?$/)
    .default("")
    .describe("Digest, such as sha256:0123…; where it is set the tag is not looked at."),
  pullPolicy: z.enum(["IfNotPresent", "Always", "Never"]).default("IfNotPresent").describe("When to pull it."),
  pullSecrets: listOf(anyObject({}, ""), [], "Secrets for pulling it: a list of {name: …}."),
});

const installation = group(
  "The first Installation. The chart creates it where there is none and never touches it again.",
  {
    create: toggle(false, "Create one. It stays when the chart is uninstalled. Needs the chart ipam-operator-crds."),
    managementPolicy: installationSpec.shape.managementPolicy.default("Observe"),
    ipam: ipamSettings
      .default({})
      .describe("The settings to manage. One that is absent is not managed. Only with create: true."),
  },
);

const rbac = group("Permissions.", {
  create: toggle(true, "Create the operator's own roles and bindings."),
  subjects: subjectsFile
    .default({})
    .describe(
      `Who gets which of the roles ${GRANTED_ROLES.join(", ")} that the operator keeps: a list of subjects for each. ` +
        "Example: {viewer: [{kind: Group, name: on-call}]}.",
    ),
  deleteOnUninstall: toggle(
    false,
    "Delete those roles and their bindings on uninstall. Whoever uses one then loses its permissions.",
  ),
});

const serviceAccount = group("The operator's ServiceAccount.", {
  create: toggle(true, "Create it."),
  name: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    .default("ipam-operator")
    .describe("Its name."),
  annotations: texts({}, "Annotations for it."),
});

const metrics = group("Metrics, and what reads them.", {
  enabled: toggle(true, "Serve /metrics."),
  port: port(8080, "Port of /metrics."),
  ...flagValues("metrics"),
  certSecret: text(
    "",
    "With secure: Secret with tls.crt, tls.key and, for the ServiceMonitor, ca.crt. Empty: self-signed by each pod.",
  ),
  readers: listOf(
    subject,
    [],
    "With secure: who may get /metrics, a list of subjects. " +
      "Example: [{kind: ServiceAccount, namespace: monitoring, name: prometheus}].",
  ),
  serviceMonitor: group("ServiceMonitor of the Prometheus operator.", {
    enabled: toggle(false, "Create it."),
    labels: texts({}, "More labels, such as those that your Prometheus selects."),
    interval: text("30s", "Time between two scrapes."),
    endpoint: anyObject({}, "Further fields of the endpoint, such as tlsConfig or relabelings; they win."),
  }),
  prometheusRule: group("PrometheusRule with the alerts of the README.", {
    enabled: toggle(false, "Create it."),
    labels: texts({}, "More labels, such as those that your Prometheus selects."),
  }),
  dashboard: group("ConfigMap with a Grafana dashboard.", {
    enabled: toggle(false, "Create it."),
    labels: texts({ grafana_dashboard: "1" }, "Labels by which Grafana's sidecar finds it."),
    annotations: texts({}, "Annotations, such as the folder that Grafana's sidecar is to use."),
  }),
});

const networkPolicy = group("NetworkPolicy for the operator's pods. Most network plugins apply none to hostNetwork.", {
  enabled: toggle(false, "Create it: in only to metrics and probes, out only to DNS and the API server."),
  apiServerPorts: listOf(port(443, ""), [443, 6443], "Ports of the API server: the Service's, and the endpoints'."),
  metricsFrom: listOf(
    anyObject({}, ""),
    [],
    "Who may read metrics: a list of NetworkPolicyPeer; everybody when empty.",
  ),
});

/** `helm/ipam-operator`. */
export const operatorValues = z.strictObject({
  image,
  replicas: z.int().min(1).max(9).default(2).describe("Pods. One works, the others take over from it."),
  operator: group("The operator's flags; see docs/reference/operator-flags.md.", flagValues("operator")),
  logs: group("Its log, on standard error.", flagValues("logs")),
  leaderElection: group("Which of the pods works.", flagValues("leaderElection")),
  extraArgs: listOf(z.string().min(1), [], "Further flags, as on a command line; not those that a value sets."),
  extraEnv: listOf(
    z.looseObject({ name: z.string().min(1), value: z.string().optional() }),
    [],
    "Further environment variables: a list of EnvVar. A flag that a value sets wins over its variable.",
  ),
  installation,
  admissionPolicy: z
    .union([z.enum(["Deny", "Warn", "off"]), z.literal(false)])
    .default("Deny")
    .describe(
      "What the API server does with a direct write that breaks a rule of the IPAM configuration: Deny, Warn, off.",
    ),
  blockSizePolicy: z
    .union([z.enum(["Deny", "Warn", "off"]), z.literal(false)])
    .default("off")
    .describe(
      "What the API server does with a new IPAMBlock, whoever creates it, that is not of its pool's blockSize: Deny, Warn, " +
        "off. Needs Kubernetes 1.31 or later. Read docs/install.md first.",
    ),
  rbac,
  serviceAccount,
  metrics,
  service: group("Service of the metrics and probes.", { annotations: texts({}, "Annotations for it.") }),
  probes: group("Liveness and readiness.", { port: port(8081, "Port of /healthz and /readyz.") }),
  resources,
  ...podSecurity,
  ...placement,
  podDisruptionBudget: group("PodDisruptionBudget; only where there is more than one replica.", {
    enabled: toggle(true, "Create it."),
    minAvailable: z.int().min(1).default(1).describe("Pods that a drain must leave; fewer than replicas."),
  }),
  networkPolicy,
  tests: group("What `helm test` runs.", { enabled: toggle(true, "Render the test's pod.") }),
  enabled,
  global,
});
export type OperatorValues = z.input<typeof operatorValues>;

/** `helm/ipam-operator-crds`. */
export const crdsValues = z.strictObject({
  ipamCRDs: z
    .enum(["none", "v1", "v3"])
    .default("none")
    .describe(
      "Calico's IPAM CRDs, for a cluster without Calico: v1 (crd.projectcalico.org) or v3 (projectcalico.org). " +
        "Leave it at none where Calico is, or will be, installed.",
    ),
  enabled,
  global: anyObject({}, "Values for every chart of a release. This chart uses none: it has no images."),
});
