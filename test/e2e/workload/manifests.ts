/** What is applied for the workload: a pool, and a DaemonSet of two allocating processes on each worker. */
import { WORKLOAD_IMAGE } from "./image.ts";

export const NAMESPACE = "e2e-workload";
export const ACCOUNT = "allocator";

const labels = { app: "allocator" };

const container = (name: string) => ({
  name,
  image: WORKLOAD_IMAGE,
  imagePullPolicy: "Never",
  env: [
    { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    { name: "WORKER", value: name },
  ],
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
});

export const WORKERS = ["first", "second"];

const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };

export const workload = {
  apiVersion: "v1",
  kind: "List",
  items: [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels: restricted } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ACCOUNT, namespace: NAMESPACE } },
    {
      apiVersion: "projectcalico.org/v3",
      kind: "IPPool",
      metadata: { name: "e2e" },
      spec: { cidr: "10.77.0.0/24", blockSize: 28, ipipMode: "Never", vxlanMode: "Never" },
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "allocator", namespace: NAMESPACE },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: ACCOUNT,
            securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
            terminationGracePeriodSeconds: 5,
            containers: WORKERS.map(container),
          },
        },
      },
    },
  ],
};
