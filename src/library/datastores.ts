/** The datastores of the public interface. Each call of theirs checks its arguments. */
import { z } from "zod";
import * as cached from "../datastore/cached.ts";
import { connectKubernetes } from "../datastore/connect.ts";
import type { Datastore } from "../datastore/datastore.ts";
import * as embedded from "../datastore/embedded.ts";
import { KINDS } from "../datastore/validation.ts";
import { forCall, given, mapOfTexts, number, others, signal, switches, text, texts } from "../ipam/argument-forms.ts";
import { checked, checkedAsync, type Methods, withChecks } from "./checked.ts";

const KIND_TEXT = `must be one of ${KINDS.join(", ")}`;
const kind = z.enum(KINDS, { error: KIND_TEXT });
export const callback = z.custom((value) => typeof value === "function", "must be a function");
const name = text.min(1, "must not be empty");
const reference = { kind, metadata: others({ name }) };
const object = others({ ...reference, spec: others({}) });
const call = { signal: signal.optional(), fresh: switches };
const options = forCall;
const reading = given({ ...call, labels: mapOfTexts.optional(), atOneRevision: switches }).optional();
const watching = given({
  ...call,
  signal,
  revision: text.optional(),
  onMalformed: callback.optional(),
  onCut: callback.optional(),
  mayResume: callback.optional(),
});
const backoff = given({ baseMs: number, maxMs: number, random: callback.optional() }).optional();
const range = others({ version: z.union([z.literal(4), z.literal(6)]), base: z.bigint(), prefix: number });

const METHODS: Methods = {
  get: { parameters: { kind, name, options } },
  list: { parameters: { kind, options: reading } },
  listNames: { parameters: { kind, options } },
  glance: { parameters: { kind, name, options } },
  create: { parameters: { object, options } },
  update: { parameters: { object, options } },
  rehearse: { parameters: { object, options } },
  updateStatus: {
    parameters: { object, options: given({ ...call, onto: others({}).optional() }).optional() },
  },
  delete: { parameters: { object: others(reference), options } },
  watch: { parameters: { kind, options: watching }, sync: true },
  blocksOf: { parameters: { affinity: text, options }, sync: true },
  blocksOfHandle: { parameters: { handleID: text }, sync: true },
  blocksOverlapping: {
    parameters: { range, options: given({ ...call, after: others({}).optional() }).optional() },
  },
};
const NODE_METHODS: Methods = {
  get: { parameters: { name, options } },
  follow: { parameters: { options: given({ signal, onError: callback.optional(), backoff }) }, sync: true },
};

/** The same datastore behind the check. */
export function checkedCalls<D extends Datastore>(opened: D): D {
  const nodes = opened.nodes && withChecks(opened.nodes, "datastore.nodes", NODE_METHODS);
  return withChecks<Datastore>(opened, "datastore", METHODS, { nodes }) as D;
}

const DATASTORE_TEXT = "must be a datastore, as openEmbedded and `await openKubernetes` open one";
const isDatastore = (value: unknown) =>
  ["get", "list", "create", "update", "delete", "watch"].every((method) => typeof Object(value)[method] === "function");
export const datastore = z.custom(isDatastore, DATASTORE_TEXT);

const path = text.min(1, 'must not be empty: name a file, or ":memory:"');
const forEmbedded = given({ clock: callback.optional(), history: number.optional() }).optional();

/**
 * Opens the embedded store: a SQLite file, created if it does not exist, or `":memory:"`, which ends with the process.
 * @throws IpamError InvalidArgument; DatastoreError Unauthorized, Invalid or Unavailable: the file cannot be used, and why
 */
export const openEmbedded = checked(
  "openEmbedded",
  { path, options: forEmbedded },
  (file: string | ":memory:", how?: embedded.EmbeddedOptions): Datastore =>
    checkedCalls(embedded.openEmbedded(file, how)),
);

const forKubernetes = given({
  kubeconfig: z.union([text, texts], { error: "must be a path or a list of paths" }).optional(),
  context: text.optional(),
  inCluster: switches,
  apiGroup: z.enum(["auto", "v1", "v3"], { error: 'must be "auto", "v1" or "v3"' }).optional(),
  signal: signal.optional(),
  timeoutMs: z.number({ error: "must be a number above 0" }).positive("must be a number above 0").optional(),
}).optional();

/**
 * Opens the datastore of a cluster; closing it closes the connections. Without options the cluster is chosen as kubectl chooses:
 * KUBECONFIG, else `~/.kube/config`, else the ServiceAccount of this pod.
 * @throws IpamError InvalidArgument. DatastoreError NoCluster, KubeconfigNotFound, KubeconfigInvalid, ContextNotFound: nothing was
 * sent; Unavailable: no connection or no answer; UntrustedCertificate; Unauthorized, with `status` 401 (the credentials are not
 * accepted) or 403 (a permission is missing); NotServed: Calico's CRDs are not installed
 */
export const openKubernetes = checkedAsync(
  "openKubernetes",
  { options: forKubernetes },
  async (...args: Parameters<typeof connectKubernetes>): Promise<Datastore> =>
    checkedCalls(await connectKubernetes(...args)),
);

const forCache = given({
  kinds: z.array(kind, { error: "must be a list of kinds" }).optional(),
  signal: signal.optional(),
  onError: callback.optional(),
  onMalformed: callback.optional(),
  onWentBack: callback.optional(),
  backoff,
}).optional();

/**
 * Starts to watch the kinds, and the nodes, of a datastore; closing the one closes the other. Objects are shared by all who read
 * them: change a copy. @throws IpamError InvalidArgument
 */
export const cachedDatastore = checked(
  "cachedDatastore",
  { datastore, options: forCache },
  (...args: Parameters<typeof cached.cachedDatastore>): cached.CachedDatastore =>
    checkedCalls(cached.cachedDatastore(...args)),
);
