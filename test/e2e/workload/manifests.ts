/** What is applied for the workload: a pool, and a DaemonSet of two allocating processes on each worker. */

export const NAMESPACE = "e2e-workload";
export const ACCOUNT = "allocator";
export const WORKERS = ["first", "second"];

const labels = { app: "allocator" };
const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
const securityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};
const NODE = "/nodejs/bin/node";
const unpack =
  'const { gunzipSync } = require("node:zlib"), fs = require("node:fs"); ' +
  'fs.writeFileSync("/workload/worker.mjs", gunzipSync(fs.readFileSync("/packed/worker.mjs.gz")))';

/** Pods of the operator's image, which has Node and nothing else that could help; `worker` is what they run. */
const podSpec = (image: string) => ({
  serviceAccountName: ACCOUNT,
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  terminationGracePeriodSeconds: 5,
  volumes: [
    { name: "packed", configMap: { name: "worker" } },
    { name: "workload", emptyDir: {} },
  ],
  initContainers: [
    {
      name: "unpack",
      image,
      command: [NODE, "--eval", unpack],
      securityContext,
      volumeMounts: [
        { name: "packed", mountPath: "/packed" },
        { name: "workload", mountPath: "/workload" },
      ],
    },
  ],
  containers: WORKERS.map((name) => ({
    name,
    image,
    command: [NODE, "/workload/worker.mjs"],
    env: [
      { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
      { name: "WORKER", value: name },
    ],
    securityContext,
    volumeMounts: [{ name: "workload", mountPath: "/workload" }],
  })),
});

/** `worker`: the compressed program; `image`: the operator's. */
export const workload = (worker: string, image: string) => ({
  apiVersion: "v1",
  kind: "List",
  items: [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels: restricted } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ACCOUNT, namespace: NAMESPACE } },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "worker", namespace: NAMESPACE },
      binaryData: { "worker.mjs.gz": worker },
    },
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
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec(image) } },
    },
  ],
});
