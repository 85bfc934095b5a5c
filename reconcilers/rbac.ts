/**
 * Keeps the ClusterRoles of the consumers (CNI plugin, node agent, controllers, viewer, editor) as the table of
 * permissions has them for the API groups that are served, and binds them to the subjects of the operator's own
 * configuration. The operator's own role is not among them: whoever installs the operator gives it that.
 */
import { MANAGED_BY, RBAC_GROUP } from "../rbac/objects.ts";
import { PRODUCT } from "../rbac/permissions.ts";
import type { Generation } from "../rbac/rules.ts";
import type { RoleSubjects } from "../rbac/subjects.ts";
import type { Installation } from "../src/api/installation.ts";
import { datastoreError } from "../src/datastore/kubernetes-errors.ts";
import { retryLostRaces } from "../src/ipam/retry.ts";
import { isKubeError, type KubeClient, type RequestOptions, type ResourceType } from "../src/kube/types.ts";
import type { ReconcileContext, ReconcileResult, Reconciler } from "../src/operator/controller.ts";
import type { EventRecorder } from "../src/operator/events.ts";
import { type Action, decide, type Slot, slots } from "./rbac/decide.ts";
import type { RbacObject } from "./rbac/difference.ts";
import { createReporter, type Outcome, type Reporter } from "./rbac/report.ts";

/** The only key: all roles and bindings are looked at together. */
export const RBAC_KEY = "rbac";

/** Selects what is ours: an object that loses the label leaves the watch, which tells of it too. */
export const RBAC_SELECTOR = `${MANAGED_BY}=${PRODUCT}`;
const version = "v1";
/** What to watch (with `labelSelector` RBAC_SELECTOR, metadata is enough); any change means RBAC_KEY. */
export const RBAC_TYPES = {
  ClusterRole: { group: RBAC_GROUP, version, plural: "clusterroles", kind: "ClusterRole" },
  ClusterRoleBinding: { group: RBAC_GROUP, version, plural: "clusterrolebindings", kind: "ClusterRoleBinding" },
} as const satisfies Record<Slot["kind"], ResourceType>;

/** What a write ends in where another writer was first. */
const LOST = ["Conflict", "AlreadyExists", "NotFound"] as const;

/** A missing permission is granted by a person, and that no watch tells. */
const FORBIDDEN_RETRY_MS = 60_000;

export interface RbacReconcilerOptions {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  /** The generations whose CRDs are served now. */
  readonly served: () => readonly Generation[] | Promise<readonly Generation[]>;
  /** Who gets which role. */
  readonly subjects: RoleSubjects;
  /** The Installation as it is now: its policy holds for roles too. Without one, roles are kept. */
  readonly installation: () => Installation | undefined | Promise<Installation | undefined>;
}

export function createRbacReconciler(options: RbacReconcilerOptions): Reconciler {
  const report = createReporter(options.events);
  return {
    name: "rbac",
    group: RBAC_GROUP,
    kind: "ClusterRole",
    reconcile: (_key, context) => reconcile(options, report, context),
  };
}

async function reconcile(
  options: RbacReconcilerOptions,
  report: Reporter,
  { signal, log }: ReconcileContext,
): Promise<ReconcileResult> {
  const installation = await options.installation();
  const policy = installation?.spec.managementPolicy ?? "Enforce";
  if (policy === "Paused") return {};
  const outcomes: Outcome[] = [];
  for (const slot of slots(await options.served(), options.subjects)) {
    const outcome = await settle(slot, options.client, policy === "Enforce", signal);
    report(outcome, installation, log);
    outcomes.push(outcome);
  }
  return next(outcomes);
}

/** One object never holds up the rest: its failure is an outcome too. */
async function settle(slot: Slot, client: KubeClient, write: boolean, signal: AbortSignal): Promise<Outcome> {
  const { kind, name } = slot;
  try {
    const what = `writing ${kind} "${name}"`;
    const attempt = () => settleOnce(slot, client, write, signal).catch((error) => rethrow(error, slot));
    return await retryLostRaces(attempt, { what, signal, lost: LOST });
  } catch (error) {
    return { kind, name, is: "failed", error };
  }
}

/** A lost race as the retry knows it; any other failure as it is. */
function rethrow(error: unknown, { kind, name }: Slot): never {
  throw isKubeError(error, ...LOST) ? datastoreError(error, RBAC_TYPES[kind], name) : error;
}

async function settleOnce(slot: Slot, client: KubeClient, write: boolean, signal: AbortSignal): Promise<Outcome> {
  const { kind, name } = slot;
  const action = decide(slot.wanted, await find(client, RBAC_TYPES[kind], name, signal));
  if (action === undefined) return { kind, name, is: "right" };
  if (action.do === "leave") return { kind, name, is: "left", because: action.because };
  if (action.do === "wait") return { kind, name, is: "held", because: action.because };
  const held = write ? await perform(action, slot, client, signal) : undefined;
  if (held) return { kind, name, is: "held", because: held.because };
  return { kind, name, is: write ? "mended" : "different", action: action.do, because: action.because };
}

async function find(client: KubeClient, type: ResourceType, name: string, signal: AbortSignal) {
  return client.get<RbacObject>(type, name, { signal }).catch((error) => {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  });
}

type Write = Exclude<Action, { do: "leave" | "wait" }>;

/** @returns what holds up a deletion, and with it what was to follow */
async function perform(
  action: Write,
  { kind, name, wanted }: Slot,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Action | undefined> {
  const type = RBAC_TYPES[kind];
  if (action.do === "delete" || action.do === "replace") {
    await remove(action.found, client, type, { signal });
    const rest = decide(wanted, await find(client, type, name, signal));
    if (rest?.do === "wait") return rest;
  }
  if (action.do === "update") await client.update(type, action.object, { signal });
  if (action.do === "create" || action.do === "replace") await client.create(type, action.object, { signal });
  return undefined;
}

/** Exactly what was read: somebody's newer object of the name stays. */
async function remove({ metadata }: RbacObject, client: KubeClient, type: ResourceType, options: RequestOptions) {
  const { name, uid, resourceVersion } = metadata;
  await client.delete(type, name, { ...options, uid, resourceVersion });
}

function next(outcomes: readonly Outcome[]): ReconcileResult {
  const errors = outcomes.flatMap((outcome) => (outcome.is === "failed" ? [outcome.error] : []));
  const other = errors.find((error) => !isKubeError(error, "Forbidden"));
  if (other !== undefined) throw other;
  return errors.length > 0 ? { requeueAfterMs: FORBIDDEN_RETRY_MS } : {};
}
