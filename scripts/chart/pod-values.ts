/** Values of the operator's pods: what they may do, what they may use, and where they run. */
import { z } from "zod";
import { anyObject, listOf, text, texts, toggle } from "./value-types.ts";

export const resources = anyObject(
  { requests: { cpu: "20m", memory: "128Mi" }, limits: { memory: "256Mi" } },
  "Resources of a pod. Node's heap may fill 60 % of the memory limit. A CPU limit would only slow the start.",
);

export const podSecurity = {
  podSecurityContext: anyObject(
    { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    "securityContext of the pods; as it is they satisfy the restricted Pod Security Standard.",
  ),
  securityContext: anyObject(
    { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, readOnlyRootFilesystem: true },
    "securityContext of the container.",
  ),
};

/** A pod may wait on a node whose network is not up yet, and on one that only runs the control plane. */
const BOOTSTRAPPING = [
  "node-role.kubernetes.io/control-plane",
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/network-unavailable",
  "node.cloudprovider.kubernetes.io/uninitialized",
].map((key) => ({ key, operator: "Exists", effect: "NoSchedule" }));

/** Not over zones: where nodes have no zone, the scheduler would leave all these constraints out of account. */
const SPREAD = [{ maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" }];

export const placement = {
  podAnnotations: texts({}, "Annotations for the pods."),
  podLabels: texts({}, "More labels for the pods."),
  nodeSelector: texts({ "kubernetes.io/os": "linux" }, "Labels of the nodes that may run the pods."),
  tolerations: listOf(
    anyObject({}, ""),
    BOOTSTRAPPING,
    "Taints that the pods bear: those of a cluster that is coming up. See docs/install.md.",
  ),
  affinity: anyObject({}, "Affinity of the pods. When empty, they prefer zones of their own."),
  topologySpreadConstraints: listOf(
    anyObject({}, ""),
    SPREAD,
    "How the pods spread; one without a labelSelector gets that of the pods of this revision. One that need not be " +
      "kept counts only where each node has the labels of all.",
  ),
  priorityClassName: text("", "PriorityClass of the pods, such as system-cluster-critical."),
  hostNetwork: toggle(
    false,
    "Use the node's network, to work before the CNI plugin does. The namespace must then admit privileged pods.",
  ),
  terminationGracePeriodSeconds: z
    .int()
    .min(1)
    .max(2_000_000)
    .default(30)
    .describe("Longest a pod may take to stop; longer than operator.gracefulShutdownTimeout."),
};
