/**
 * Every role on a real API server, as a ServiceAccount that holds it and nothing else: each verb on each of our kinds
 * either works, because the table grants it, or is forbidden, because it does not (case HLM-01).
 */
import pino from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRbacReconciler, RBAC_KEY } from "../reconcilers/rbac.ts";
import type { KubeObject } from "../src/api/meta.ts";
import { installationResource, resources } from "../src/api/resources.ts";
import { connect } from "../src/kube/rest.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../test/control-plane/control-plane.ts";
import { denied, permissionText } from "../test/support/audit.ts";
import { recordUsage } from "../test/support/audit-usage.ts";
import { GRANTED_ROLES, type GrantedRole, permissions, ROLES, type Role, type Verb } from "./permissions.ts";
import { expand, GENERATIONS, type Generation, type Permission, permissionsOf } from "./rules.ts";
import type { RoleSubjects } from "./subjects.ts";

const NAMESPACE = "consumers";
const userOf = (role: Role): string =>
  role === "operator"
    ? "system:serviceaccount:ipam-operator:ipam-operator"
    : `system:serviceaccount:${NAMESPACE}:${role}`;
const subjects: RoleSubjects = new Map(
  GRANTED_ROLES.map((role) => [role, [{ kind: "ServiceAccount", namespace: NAMESPACE, name: role }]]),
);
const log = pino({ level: "silent" });

let cluster: ControlPlane;
let admin: KubeClient;
const clients = new Map<Role, KubeClient>();
const tokens = new Map<Role, string>();

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  admin = await connect({ kubeconfig: cluster.kubeconfig });
  await cluster.kubectlOk(["apply", "-f", "rbac/"]);
  for (const role of ROLES) {
    const [namespace, name] = role === "operator" ? ["ipam-operator", "ipam-operator"] : [NAMESPACE, role];
    tokens.set(role, await cluster.serviceAccountToken(namespace, name, { create: true }));
    clients.set(role, await connect({ kubeconfig: cluster.kubeconfigFor(tokens.get(role)!) }));
  }
});
afterAll(async () => {
  // Not the operator: what it uses, its own suites must show.
  await recordUsage(cluster, Object.fromEntries(GRANTED_ROLES.map((role) => [userOf(role), role])));
  await Promise.all([admin, ...clients.values()].map((client) => client?.close()));
  await cluster.stop();
});

/** The operator grants for the groups that are served. */
async function grant(served: readonly Generation[]): Promise<void> {
  const events = { event: (_: KubeObject, ...told: string[]) => log.info(told) };
  const options = {
    client: clients.get("operator")!,
    events,
    subjects,
    served: () => served,
    installation: () => undefined,
  };
  await createRbacReconciler(options).reconcile(RBAC_KEY, { signal: AbortSignal.timeout(20_000), log });
}

/** Asks the API server, as the role, whether it may. */
async function may(role: Role, one: Permission, namespace = ""): Promise<boolean> {
  const [resource, subresource] = one.resource.split("/");
  const resourceAttributes = {
    group: one.group,
    resource,
    subresource,
    verb: one.verb,
    name: one.names?.[0],
    namespace,
  };
  const type = {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "selfsubjectaccessreviews",
    kind: "SelfSubjectAccessReview",
  };
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: type.kind,
    metadata: { name: "" },
    spec: { resourceAttributes },
  };
  const answer = await clients.get(role)!.create(type, review as unknown as KubeObject);
  return (answer.status as { allowed: boolean }).allowed;
}
const text = ({ verb, group, resource }: Permission): string => permissionText(verb, group, resource);

describe("HLM-01: with the groups that are served", () => {
  it.each([
    { groups: "v1 only", served: ["v1"] },
    { groups: "v3 only", served: ["v3"] },
    { groups: "both", served: ["v1", "v3"] },
  ] as const)("$groups: each role may all it must, and nothing on the other group", async ({ served }) => {
    await grant(served);
    for (const role of GRANTED_ROLES) {
      const granted = permissionsOf(role, served);
      const refused = permissionsOf(role).filter((one) => !granted.some((other) => text(other) === text(one)));
      await expect
        .poll(() => answers(role, granted), { timeout: 10_000 })
        .toEqual(granted.map((one) => `yes ${text(one)}`));
      await expect
        .poll(() => answers(role, refused), { timeout: 10_000 })
        .toEqual(refused.map((one) => `no ${text(one)}`));
    }
  });

  const answers = (role: Role, asked: readonly Permission[]) =>
    Promise.all(asked.map(async (one) => `${(await may(role, one)) ? "yes" : "no"} ${text(one)}`));

  it("the operator may make every call of its own, also to kinds that are not served yet", async () => {
    const own = permissionsOfOperator();
    expect(await answers("operator", own)).toEqual(own.map((one) => `yes ${text(one)}`));
  });

  it("kubectl auth can-i says so too, for the kinds that it can find", async () => {
    const notServed = ["clusterinformations", "installations", "datastoremigrations"];
    for (const one of permissionsOfOperator().filter(({ resource }) => !notServed.includes(resource))) {
      const [resource, subresource] = one.resource.split("/");
      const on = `${resource}.${one.group}${one.names ? `/${one.names[0]}` : ""}`;
      const args = ["auth", "can-i", one.verb, on, ...(subresource ? ["--subresource", subresource] : [])];
      const { stdout } = await cluster.kubectl(args, { token: tokens.get("operator")! });
      expect(`${stdout.trim()} ${text(one)}`).toBe(`yes ${text(one)}`);
    }
  }, 120_000);

  /** Without what it holds only to grant it. */
  const permissionsOfOperator = (): readonly Permission[] =>
    permissions.operator.filter((one) => !one.namespace).flatMap((one) => expand(one));
});

describe("the operator's limits", () => {
  const on = (group: string, resource: string, verb: Verb, name?: string): Permission => ({
    group,
    resource,
    verb,
    names: name ? [name] : undefined,
  });
  const rbac = "rbac.authorization.k8s.io";

  it.each([
    ["its lease", on("coordination.k8s.io", "leases", "update", "ipam-operator"), "ipam-operator", true],
    ["another lease", on("coordination.k8s.io", "leases", "update", "other"), "ipam-operator", false],
    ["a lease elsewhere", on("coordination.k8s.io", "leases", "create"), "kube-system", false],
    ["events in default", on("events.k8s.io", "events", "create"), "default", true],
    ["events elsewhere", on("events.k8s.io", "events", "create"), "kube-system", false],
    ["a role of ours", on(rbac, "clusterroles", "update", "ipam-operator:viewer"), "", true],
    ["its own role", on(rbac, "clusterroles", "update", "ipam-operator:operator"), "", false],
    ["another's role", on(rbac, "clusterroles", "delete", "cluster-admin"), "", false],
    ["escalate", on(rbac, "clusterroles", "escalate" as Verb, "ipam-operator:viewer"), "", false],
    ["bind", on(rbac, "clusterroles", "bind" as Verb, "ipam-operator:viewer"), "", false],
    ["another CRD", on("apiextensions.k8s.io", "customresourcedefinitions", "get", "x.example.com"), "", false],
    ["secrets", on("", "secrets", "list"), "", false],
  ])("%s", async (_what, permission, namespace, allowed) => {
    expect(await may("operator", permission, namespace)).toBe(allowed);
  });

  it("cannot give itself more by editing a role of its own", async () => {
    const client = clients.get("operator")!;
    const type = { group: rbac, version: "v1", plural: "clusterroles", kind: "ClusterRole" };
    const viewer = await client.get<KubeObject & { rules: unknown[] }>(type, "ipam-operator:viewer");
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    await expect(client.update(type, { ...viewer, rules })).rejects.toMatchObject({ code: "Forbidden" });
  });
});

/** An object of each kind in each generation, as short as its schema lets it be. */
const cidr = "10.0.0.0/30";
const specs: Record<keyof typeof resources, (generation: Generation) => unknown> = {
  IPAMBlock: () => ({
    cidr,
    allocations: [null, null, null, null],
    unallocated: [0, 1, 2, 3],
    attributes: [],
    deleted: false,
    strictAffinity: false,
  }),
  BlockAffinity: (generation) => ({
    cidr,
    node: "n",
    type: "host",
    state: "confirmed",
    deleted: generation === "v1" ? "false" : false,
  }),
  IPAMHandle: () => ({ handleID: "h", block: {}, deleted: false }),
  IPAMConfiguration: () => ({ strictAffinity: false, autoAllocateBlocks: true }),
  IPPool: () => ({ cidr: "10.0.0.0/16", ipipMode: "Never", vxlanMode: "Never" }),
  IPReservation: () => ({ reservedCIDRs: [cidr] }),
};
interface Sample {
  readonly type: ResourceType;
  readonly object: KubeObject;
}
const sample = (type: ResourceType, spec: unknown): Sample => ({
  type,
  object: { apiVersion: `${type.group}/${type.version}`, kind: type.kind, metadata: { name: "default" }, spec },
});
const samples: readonly Sample[] = [
  sample(installationResource, { managementPolicy: "Paused" }),
  ...Object.entries(specs).flatMap(([kind, spec]) =>
    GENERATIONS.map((generation) => sample(resources[kind as keyof typeof specs][generation], spec(generation))),
  ),
];

/** One try of each verb with the object there (or, for create, absent). */
const tries: Record<Verb, (client: KubeClient, sample: Sample) => Promise<unknown>> = {
  get: (client, { type }) => client.get(type, "default"),
  list: (client, { type }) => client.list(type),
  watch: firstEvent,
  create: async (client, { type, object }) => {
    await admin.delete(type, "default");
    await client.create(type, object);
  },
  update: async (client, { type }) => client.update(type, await admin.get(type, "default")),
  patch: (client, { type }) =>
    client.patch(type, "default", { metadata: { annotations: { a: "b" } } }, { type: "merge" }),
  delete: (client, { type }) => client.delete(type, "default"),
};
async function firstEvent(client: KubeClient, { type }: Sample): Promise<void> {
  const stop = new AbortController();
  const { resourceVersion } = await admin.list(type);
  const watch = client.watch(type, { signal: stop.signal, resourceVersion });
  const touched = admin.patch(
    type,
    "default",
    { metadata: { annotations: { touched: crypto.randomUUID() } } },
    { type: "merge" },
  );
  for await (const event of watch) if (event.type === "MODIFIED") break;
  stop.abort();
  await touched;
}

async function ensure({ type, object }: Sample): Promise<void> {
  await admin.create(type, object).catch((error) => {
    if (!isKubeError(error, "AlreadyExists")) throw error;
  });
}

describe.each(GRANTED_ROLES)("%s on our kinds", (role: GrantedRole) => {
  const granted = new Set(permissionsOf(role).map(text));
  beforeAll(() => grant(GENERATIONS));

  it.each(Object.keys(tries) as Verb[])(
    "%s works where the table grants it, and is forbidden elsewhere",
    async (verb) => {
      for (const one of samples) {
        await ensure(one);
        const permission = permissionText(verb, one.type.group, one.type.plural);
        const outcome = tries[verb](clients.get(role)!, one).then(
          () => "works",
          (error) => error.code ?? error,
        );
        expect(`${permission}: ${await outcome}`).toBe(
          `${permission}: ${granted.has(permission) ? "works" : "Forbidden"}`,
        );
      }
    },
  );

  it("was denied exactly what the table does not grant, by the audit log", async () => {
    const all = samples.flatMap(({ type }) =>
      (Object.keys(tries) as Verb[]).map((verb) => permissionText(verb, type.group, type.plural)),
    );
    const refused = denied(await cluster.auditLog(), userOf(role)).map((line) => line.replace(/ default$/, ""));
    expect(refused).toEqual(all.filter((permission) => !granted.has(permission)).sort());
  });
});
