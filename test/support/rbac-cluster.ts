/** A real API server set up by `kubectl apply -f rbac/`, with passes of the RBAC reconciler under the operator's own token. */
import pino from "pino";
import type { ClusterRole, ClusterRoleBinding } from "../../rbac/objects.ts";
import type { Generation } from "../../rbac/rules.ts";
import { parseSubjects, type RoleSubjects } from "../../rbac/subjects.ts";
import { createRbacReconciler, RBAC_KEY, RBAC_SELECTOR, RBAC_TYPES } from "../../reconcilers/rbac.ts";
import type { Installation, ManagementPolicy } from "../../src/api/installation.ts";
import { createEventRecorder } from "../../src/kube/events.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import type { ReconcileResult } from "../../src/operator/controller.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { recordUsage } from "./audit-usage.ts";

export const { ClusterRole: ROLE, ClusterRoleBinding: BINDING } = RBAC_TYPES;
export const CNI = "ipam-operator:cni-plugin";
export const VIEWER = "ipam-operator:viewer";

/** Who gets a role in these tests, unless a pass says otherwise. */
export const SUBJECTS = parseSubjects(
  `
cni-plugin: [{kind: ServiceAccount, namespace: kube-system, name: cni}]
viewer: [{kind: Group, name: network}, {kind: User, name: jane}]
`,
  "the test",
);
/** The viewer's subjects only. */
export const VIEWERS_ONLY: RoleSubjects = new Map([["viewer", SUBJECTS.get("viewer")!]]);

/** What differs in one pass; absent means both groups, SUBJECTS, an Installation with Enforce, the operator's client. */
export interface Pass {
  readonly served?: readonly Generation[];
  readonly subjects?: RoleSubjects;
  readonly policy?: ManagementPolicy | "no Installation";
  readonly client?: KubeClient;
}
export interface PassResult {
  readonly result: ReconcileResult;
  /** The events that the pass wrote, `reason: note`, sorted. */
  readonly events: readonly string[];
}

export interface RbacCluster {
  readonly controlPlane: ControlPlane;
  readonly admin: KubeClient;
  readonly operator: KubeClient;
  /** One pass of an operator that has just started. */
  reconcile(pass?: Pass): Promise<PassResult>;
  role(name?: string): Promise<ClusterRole>;
  binding(name?: string): Promise<ClusterRoleBinding>;
  /** Sorted names of what has our label. */
  names(kind: "clusterroles" | "clusterrolebindings"): Promise<string[]>;
  /** Names and revisions of all that has our label: equal before and after means that nothing was written. */
  revisions(): Promise<string>;
  stop(): Promise<void>;
}

const log = pino({ level: "silent" });

export async function startRbacCluster(): Promise<RbacCluster> {
  const controlPlane = await startControlPlane();
  await controlPlane.kubectlOk(["apply", "-f", "rbac/"]);
  const admin = await connect({ kubeconfig: controlPlane.kubeconfig });
  const token = await controlPlane.serviceAccountToken("ipam-operator", "ipam-operator");
  const operator = await connect({ kubeconfig: controlPlane.kubeconfigFor(token) });
  const ours = (kind: string, jsonpath: string) =>
    controlPlane.kubectlOk(["get", kind, "-l", RBAC_SELECTOR, "-o", `jsonpath=${jsonpath}`]);
  return {
    controlPlane,
    admin,
    operator,
    reconcile: (pass = {}) => reconcile(controlPlane, operator, pass),
    role: (name = CNI) => admin.get<ClusterRole>(ROLE, name),
    binding: (name = CNI) => admin.get<ClusterRoleBinding>(BINDING, name),
    names: async (kind) => (await ours(kind, "{.items[*].metadata.name}")).split(" ").sort(),
    revisions: () =>
      ours(
        "clusterroles,clusterrolebindings",
        "{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion};{end}",
      ),
    stop: async () => {
      await recordUsage(controlPlane);
      await Promise.all([admin.close(), operator.close()]);
      await controlPlane.stop();
    },
  };
}

async function reconcile(controlPlane: ControlPlane, operator: KubeClient, pass: Pass): Promise<PassResult> {
  const { served = ["v1", "v3"], subjects = SUBJECTS, client = operator, policy = "Enforce" } = pass;
  const installation = policy === "no Installation" ? undefined : installationWith(policy);
  const events = createEventRecorder({ client: operator, log, controller: "ipam-operator", instance: "test" });
  const options = { client, events, subjects, served: () => served, installation: () => installation };
  const result = await createRbacReconciler(options).reconcile(RBAC_KEY, { signal: AbortSignal.timeout(20_000), log });
  await events.flush();
  return { result, events: installation ? await eventsOn(controlPlane, installation.metadata.uid!) : [] };
}

/** A UID of its own each time tells the events of one pass from others. */
function installationWith(managementPolicy: ManagementPolicy): Installation {
  const metadata = { name: "default", uid: crypto.randomUUID() };
  return { apiVersion: "ipam-operator.io/v1alpha1", kind: "Installation", metadata, spec: { managementPolicy } };
}

async function eventsOn(controlPlane: ControlPlane, uid: string): Promise<string[]> {
  const out = await controlPlane.kubectlOk(["get", "events.events.k8s.io", "-n", "default", "-o", "json"]);
  const items: { regarding: { uid: string }; reason: string; note: string }[] = JSON.parse(out).items;
  const own = items.filter(({ regarding }) => regarding.uid === uid);
  return own.map(({ reason, note }) => `${reason}: ${note}`).sort();
}
