/** Every switch of the operator's chart, with the objects that it adds to the default ones or takes away. */
import type { OperatorValues } from "../../scripts/chart/values.ts";

export interface Toggle {
  readonly values: OperatorValues;
  /** `Kind name` of each object. */
  readonly adds?: readonly string[];
  readonly lacks?: readonly string[];
}

const ROLES = ["cni-plugin", "controllers", "editor", "node-agent", "viewer"].map((role) => `ipam-operator:${role}`);

/** What the chart installs when nothing is said. */
export const DEFAULT_OBJECTS: readonly string[] = [
  "ClusterRole ipam-operator:metrics-reader",
  "ClusterRole ipam-operator:operator",
  "ClusterRoleBinding ipam-operator:operator",
  "Deployment ipam-operator",
  "Lease ipam-operator",
  "Pod ipam-operator-test",
  "PodDisruptionBudget ipam-operator",
  "Role ipam-operator:events",
  "Role ipam-operator:leases",
  "RoleBinding ipam-operator:events",
  "RoleBinding ipam-operator:leases",
  "Service ipam-operator",
  "ServiceAccount ipam-operator",
  "ValidatingAdmissionPolicy ipam-configuration.ipam-operator.io",
  "ValidatingAdmissionPolicyBinding ipam-configuration.ipam-operator.io",
];
const POLICY = DEFAULT_OBJECTS.filter((name) => name.startsWith("ValidatingAdmissionPolicy"));
const BLOCK_SIZE_POLICY = ["v1", "v3"].flatMap((group) => [
  `ValidatingAdmissionPolicy ipam-block-size-${group}.ipam-operator.io`,
  `ValidatingAdmissionPolicyBinding ipam-block-size-${group}.ipam-operator.io`,
]);
const METRICS_READER = ["ClusterRole ipam-operator:metrics-reader"];
const RBAC = DEFAULT_OBJECTS.filter((name) => /^(Cluster)?Role/.test(name));

export const TOGGLES: Readonly<Record<string, Toggle>> = {
  defaults: { values: {} },
  "one replica": { values: { replicas: 1 }, lacks: ["PodDisruptionBudget ipam-operator"] },
  "no disruption budget": {
    values: { podDisruptionBudget: { enabled: false } },
    lacks: ["PodDisruptionBudget ipam-operator"],
  },
  "no leader election": {
    values: { replicas: 1, leaderElection: { enabled: false } },
    lacks: ["Lease ipam-operator", "PodDisruptionBudget ipam-operator"],
  },
  "no RBAC": { values: { rbac: { create: false } }, lacks: RBAC },
  "somebody else's ServiceAccount": {
    values: { serviceAccount: { create: false, name: "theirs" } },
    lacks: ["ServiceAccount ipam-operator"],
  },
  "roles go on uninstall": {
    values: { rbac: { deleteOnUninstall: true } },
    adds: ROLES.flatMap((role) => [`ClusterRole ${role}`, `ClusterRoleBinding ${role}`]),
  },
  "roles for somebody": {
    values: {
      rbac: {
        subjects: {
          "cni-plugin": [{ kind: "ServiceAccount", namespace: "kube-system", name: "calico-cni-plugin" }],
          viewer: [{ kind: "Group", name: "on-call" }],
        },
      },
    },
    adds: ["ConfigMap ipam-operator-rbac-subjects"],
  },
  "a first Installation": { values: { installation: { create: true } }, adds: ["Installation default"] },
  "a first Installation that enforces": {
    values: { installation: { create: true, managementPolicy: "Enforce", ipam: { ipCooldownSeconds: 60 } } },
    adds: ["Installation default"],
  },
  "policy warns": { values: { admissionPolicy: "Warn" } },
  "policy off": { values: { admissionPolicy: "off" }, lacks: POLICY },
  "block sizes enforced": { values: { blockSizePolicy: "Deny" }, adds: BLOCK_SIZE_POLICY },
  "block sizes warned about": { values: { blockSizePolicy: "Warn" }, adds: BLOCK_SIZE_POLICY },
  "no metrics": { values: { metrics: { enabled: false } }, lacks: METRICS_READER },
  "metrics for everybody": { values: { metrics: { secure: false } }, lacks: METRICS_READER },
  "metrics with a given certificate": { values: { metrics: { certSecret: "metrics-tls" } } },
  "metrics for some": {
    values: { metrics: { readers: [{ kind: "ServiceAccount", namespace: "monitoring", name: "prometheus" }] } },
    adds: ["ClusterRoleBinding ipam-operator:metrics-reader"],
  },
  "service monitor": {
    values: { metrics: { serviceMonitor: { enabled: true, labels: { release: "prometheus" } } } },
    adds: ["ServiceMonitor ipam-operator"],
  },
  "service monitor of metrics for everybody": {
    values: { metrics: { secure: false, serviceMonitor: { enabled: true } } },
    adds: ["ServiceMonitor ipam-operator"],
    lacks: METRICS_READER,
  },
  "service monitor of metrics with a given certificate": {
    values: {
      metrics: {
        certSecret: "metrics-tls",
        serviceMonitor: { enabled: true, endpoint: { scrapeTimeout: "5s" } },
      },
    },
    adds: ["ServiceMonitor ipam-operator"],
  },
  alerts: { values: { metrics: { prometheusRule: { enabled: true } } }, adds: ["PrometheusRule ipam-operator"] },
  dashboard: {
    values: { metrics: { dashboard: { enabled: true, annotations: { grafana_folder: "Network" } } } },
    adds: ["ConfigMap ipam-operator-dashboard"],
  },
  "network policy": { values: { networkPolicy: { enabled: true } }, adds: ["NetworkPolicy ipam-operator"] },
  "network policy for some": {
    values: {
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
      },
    },
    adds: ["NetworkPolicy ipam-operator"],
  },
  "no test": { values: { tests: { enabled: false } }, lacks: ["Pod ipam-operator-test"] },
  "the node's network": { values: { hostNetwork: true } },
  "everything about the pods": {
    values: {
      image: {
        repository: "images.example/ipam-operator",
        digest: `sha256:${"0".repeat(64)}`,
        pullSecrets: [{ name: "pull" }],
      },
      extraArgs: ["--inspect-bind-address=127.0.0.1:9229"],
      extraEnv: [{ name: "KUBERNETES_SERVICE_HOST", value: "api.example" }],
      podAnnotations: { note: "a" },
      podLabels: { team: "network" },
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      tolerations: [{ operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [
        {
          maxSkew: 2,
          topologyKey: "zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { a: "b" } },
        },
      ],
      priorityClassName: "system-cluster-critical",
      terminationGracePeriodSeconds: 60,
      resources: { limits: { memory: "1Gi" } },
      service: { annotations: { note: "b" } },
      serviceAccount: { annotations: { note: "c" } },
    },
  },
};

/** The objects that a toggle is to render. */
export function objectsOf({ adds = [], lacks = [] }: Toggle): string[] {
  return [...DEFAULT_OBJECTS.filter((name) => !lacks.includes(name)), ...adds].sort();
}
