/**
 * Who may do what: the one table of permissions. `rules.ts` turns it into RBAC rules, `generate.ts` into `rbac/*.yaml`
 * and the reference page, `reconcilers/rbac` into what a running operator keeps on the cluster.
 */
import type { IpamKind } from "../src/api/v3.ts";

/** Prefix of every ClusterRole and binding of ours, and the name of the operator's ServiceAccount and namespace. */
export const PRODUCT = "ipam-operator";

/** Roles the operator grants to others and keeps as this table has them. */
export const GRANTED_ROLES = ["cni-plugin", "node-agent", "controllers", "viewer", "editor"] as const;
export type GrantedRole = (typeof GRANTED_ROLES)[number];
export type Role = "operator" | GrantedRole;
export const ROLES: readonly Role[] = ["operator", ...GRANTED_ROLES];

/** Name of a role's ClusterRole, and of its ClusterRoleBinding. */
export const roleName = (role: Role): string => `${PRODUCT}:${role}`;

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/**
 * What a grant is on: a kind of ours (an IPAM kind is its v1 and its v3 resource), another resource of Calico's in
 * both groups, or any one resource.
 */
export type Target =
  | IpamKind
  | "Installation"
  | "Installation/status"
  | { readonly calico: string }
  | { readonly group: string; readonly resource: string };

export interface Grant {
  readonly on: readonly Target[];
  readonly verbs: readonly Verb[];
  /** Only objects of these names. RBAC cannot limit `create`, and a limited `list` or `watch` must select the name. */
  readonly names?: readonly string[];
  /** In this namespace only (a Role): `own` is where the operator runs. Without it: the whole cluster. */
  readonly namespace?: "own" | "default";
  /** What it is needed for, a sentence for the reference page. */
  readonly why: string;
  /** Why no test uses it; only allowed for what no test can reach. */
  readonly unusedBecause?: string;
}

const READ = ["get", "list", "watch"] as const;
const DATA = ["IPAMBlock", "BlockAffinity", "IPAMHandle"] as const;
const POOLS = ["IPPool", "IPReservation"] as const;
const CLUSTER_INFORMATION = { calico: "clusterinformations" } as const;
const NODES = { group: "", resource: "nodes" } as const;
const PODS = { group: "", resource: "pods" } as const;
const NAMESPACES = { group: "", resource: "namespaces" } as const;
const CALICO_INSTALLATIONS = { group: "operator.tigera.io", resource: "installations" } as const;
const LEASES = { group: "coordination.k8s.io", resource: "leases" } as const;
const RBAC = [
  { group: "rbac.authorization.k8s.io", resource: "clusterroles" },
  { group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" },
] as const;
const REVIEWS = [
  { group: "authentication.k8s.io", resource: "tokenreviews" },
  { group: "authorization.k8s.io", resource: "subjectaccessreviews" },
] as const;
const SERVICES = { group: "", resource: "services" } as const;
const VMS = [
  { group: "kubevirt.io", resource: "virtualmachines" },
  { group: "kubevirt.io", resource: "virtualmachineinstances" },
] as const;
const POD_EVENTS = { group: "", resource: "events" } as const;
const CONTROLLERS_CONFIGURATION = { calico: "kubecontrollersconfigurations" } as const;
const CRDS = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" } as const;

/** What anything that allocates and releases addresses does with the data. */
const allocate: Grant = {
  on: DATA,
  verbs: [...READ, "create", "update", "delete"],
  why: "Allocates and releases addresses: claims blocks, counts handles, removes what is empty.",
};
/** No consumer writes the configuration: a node that is taken over must not be able to change the cluster's. */
const readConfig: Grant = {
  on: ["IPAMConfiguration"],
  verbs: ["get"],
  why: "Reads the configuration before each allocation; never writes it.",
};
/** What lives long follows the configuration, as it follows pools and blocks. */
const followConfig: Grant = {
  on: ["IPAMConfiguration"],
  verbs: READ,
  why: "Follows the configuration, or reads it before each allocation; never writes it.",
};
const MIGRATIONS = [{ group: "migration.projectcalico.org", resource: "datastoremigrations" }];
const findData: Grant = {
  on: MIGRATIONS,
  verbs: ["list"],
  why: "A finished migration decides which API group holds the data.",
};
const readLock: Grant = {
  on: [CLUSTER_INFORMATION],
  verbs: ["get"],
  why: "Sees whether the datastore is ready, or locked by a migration.",
};

const viewer: readonly Grant[] = [
  {
    on: ["Installation", "IPAMConfiguration", ...POOLS, ...DATA],
    verbs: READ,
    why: "Looks at what is configured, allocated and free.",
  },
  {
    on: [NODES, NAMESPACES, PODS, SERVICES, POD_EVENTS],
    verbs: ["list"],
    why: "Tells addresses in use from leaked ones (`ipamctl check`), and why a pod has none (`ipamctl why`).",
  },
  {
    on: VMS,
    verbs: ["list"],
    why: "Tells the address of a KubeVirt VM from a leaked one; read only where an address is allocated to a VM.",
  },
  {
    on: [CLUSTER_INFORMATION, CONTROLLERS_CONFIGURATION],
    verbs: ["list"],
    why: "Sees whether the datastore is ready, and who collects leaked addresses.",
  },
  {
    on: [CALICO_INSTALLATIONS],
    verbs: ["list"],
    why: "Sees whether the cluster's addresses are Calico's to manage.",
  },
  findData,
];

/** The table. */
export const permissions: Readonly<Record<Role, readonly Grant[]>> = {
  operator: [
    { on: ["Installation"], verbs: READ, why: "Follows what the user asks for." },
    { on: ["Installation/status"], verbs: ["update"], why: "Answers in the status; the spec is never written." },
    {
      on: ["Installation/status"],
      verbs: ["patch"],
      why: "Writes the status while others keep editing metadata or spec.",
    },
    {
      on: ["IPAMConfiguration"],
      verbs: ["list", "watch", "create", "update"],
      why: "Keeps the configuration as the Installation asks, and sees when someone else changes it.",
    },
    {
      on: ["IPAMConfiguration"],
      verbs: ["get"],
      why: "Reads the configuration again where the answer to a write was lost.",
      unusedBecause:
        "An answer that is lost is shown with the embedded store, by name in reconcilers/installation.test.ts.",
    },
    { on: ["IPPool"], verbs: ["list", "watch"], why: "Warns where blocks are too small for a node's pods." },
    { on: [NODES], verbs: ["list", "watch"], why: "Sees Windows nodes and how many pods each node takes." },
    { on: [CLUSTER_INFORMATION], verbs: ["list", "watch"], why: "Writes nothing while Calico's datastore is locked." },
    { on: [CRDS], verbs: ["list", "watch"], why: "Goes on by itself once missing CRDs are installed." },
    {
      on: [CRDS],
      verbs: ["get"],
      names: [
        "ipamconfigs.crd.projectcalico.org",
        "ipamconfigurations.projectcalico.org",
        "ipamblocks.crd.projectcalico.org",
        "ipamblocks.projectcalico.org",
      ],
      why: "Sees which fields the served configuration and blocks have: an older CRD drops the others in silence.",
    },
    {
      on: [CALICO_INSTALLATIONS],
      verbs: ["list", "watch"],
      why: "Leaves a cluster alone whose addresses Calico does not manage.",
    },
    {
      on: MIGRATIONS,
      verbs: ["list", "watch"],
      why: "Follows Calico's data to v3 when a migration has finished.",
    },
    {
      on: RBAC,
      verbs: ["list", "watch", "create"],
      why: "Creates the roles and bindings below, and sees when one is changed. RBAC cannot limit these verbs by name.",
    },
    {
      on: RBAC,
      verbs: ["get", "update", "delete"],
      names: GRANTED_ROLES.map(roleName),
      why: "Restores its own roles and bindings, and deletes bindings that are no longer asked for.",
    },
    {
      on: REVIEWS,
      verbs: ["create"],
      why: "Asks who calls /metrics and whether they may; only used with `--metrics-secure`.",
    },
    {
      on: [LEASES],
      verbs: ["create"],
      namespace: "own",
      why: "Elects the one replica that works.",
    },
    {
      on: [LEASES],
      verbs: [...READ, "update"],
      names: [PRODUCT],
      namespace: "own",
      why: "Renews and releases the lease; the standby watches it to take over at once.",
    },
    {
      on: [{ group: "events.k8s.io", resource: "events" }],
      verbs: ["create", "patch"],
      namespace: "default",
      why: "Tells what it did; events about objects without a namespace are kept in `default`.",
    },
  ],
  "cni-plugin": [
    allocate,
    readConfig,
    { on: POOLS, verbs: ["get", "list"], why: "Chooses a pool and leaves out what is reserved." },
    { on: [NODES, NAMESPACES], verbs: ["get"], why: "Matches a pool's node and namespace selectors." },
    readLock,
    findData,
  ],
  "node-agent": [
    allocate,
    followConfig,
    { on: POOLS, verbs: READ, why: "Follows the pools for routes and tunnel addresses." },
    { on: [NODES], verbs: READ, why: "Matches a pool's node selector and follows the other nodes." },
    readLock,
    findData,
  ],
  controllers: [
    allocate,
    followConfig,
    { on: POOLS, verbs: READ, why: "Follows the pools and what is reserved in them." },
    { on: [NODES, PODS], verbs: READ, why: "Tells addresses in use from leaked ones." },
    { on: [NAMESPACES], verbs: ["get"], why: "Matches a pool's namespace selector." },
    readLock,
    findData,
  ],
  viewer,
  editor: [
    ...viewer,
    {
      on: ["Installation", "IPAMConfiguration", ...POOLS],
      verbs: ["create", "update", "patch", "delete"],
      why: "Writes the Installation, the pools and the reservations, and removes a configuration under a wrong name.",
    },
    {
      on: DATA,
      verbs: ["create", "update", "delete"],
      why: "Assigns and releases addresses (`ipamctl assign`, `release`, `gc`), mends what is left over (`ipamctl repair`).",
    },
    { on: [NODES, PODS], verbs: ["get"], why: "Checks allocations against what runs." },
    readLock,
  ],
};
