/** The operator on a cluster: watches, lease, events and the two reconcilers, wired. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { readSubjects } from "../../../rbac/subjects.ts";
import { type Surroundings, UNDECIDED } from "../../../reconcilers/installation/surroundings.ts";
import { createInstallationReconciler } from "../../../reconcilers/installation.ts";
import { createRbacReconciler, RBAC_KEY, RBAC_SELECTOR, RBAC_TYPES } from "../../../reconcilers/rbac.ts";
import { type Installation, SINGLETON_NAME } from "../../api/installation.ts";
import { apiGroups } from "../../datastore/flavours.ts";
import { openKubernetes } from "../../datastore/kubernetes.ts";
import { runTask } from "../../kube/background.ts";
import { loadCredentials } from "../../kube/credentials.ts";
import { createEventRecorder } from "../../kube/events.ts";
import { createElector, type Elector } from "../../kube/lease.ts";
import { createKubeClient } from "../../kube/rest.ts";
import { createTransport } from "../../kube/transport.ts";
import type { KubeClient } from "../../kube/types.ts";
import { VERSION } from "../../version.ts";
import { LostRace, type Reconciler } from "../controller.ts";
import { openEndpoints } from "../endpoints.ts";
import type { EventRecorder } from "../events.ts";
import { electorCallbacks, LEASE_NAME, serveTerm } from "../leadership.ts";
import type { ScrapeGuard } from "../metrics-access.ts";
import type { Place } from "../place.ts";
import { type OperatorProcess, stopping } from "../process.ts";
import { endsWithin } from "../shutdown.ts";
import { chooseGroup, poolReader } from "./group.ts";
import { leaseAdvice, leaseMissing } from "./lease-advice.ts";
import { loggedEvents } from "./logged-events.ts";
import { type ClusterWatch, watchCluster } from "./watch.ts";

/** Time kept of the shutdown for giving back the lease, and as much again for writing the last events. */
const LAST_WORDS_MS = 3000;
const NAMESPACE = "ipam-operator";

/** Runs until the process is asked to stop. @returns the exit code */
export async function runCluster(place: Place & { kind: "cluster" }, operator: OperatorProcess): Promise<number> {
  const { log, options } = operator;
  const subjects = options.rbacSubjects === undefined ? new Map() : await readSubjects(options.rbacSubjects);
  const credentials = await loadCredentials({
    kubeconfig: options.kubeconfig,
    context: options.context,
    inCluster: place.inPod,
  });
  log.info(`Working on ${credentials.description}, because ${place.why}`);
  const client = createKubeClient(
    createTransport(credentials, {
      qps: options.kubeApiQps,
      burst: options.kubeApiBurst,
      userAgent: `ipam-operator/${VERSION}`,
      onRequest: ({ code, method, host }) =>
        operator.metrics.count("rest_client_requests_total", { code, method, host }),
    }),
  );
  const namespace = options.namespace ?? (place.inPod ? credentials.namespace : undefined) ?? NAMESPACE;
  const watches = new AbortController();
  try {
    await work({ client, namespace, subjects, watches: watches.signal, operator });
  } finally {
    watches.abort();
    await endsWithin(LAST_WORDS_MS, client.close(), log);
  }
  log.info("Stopped");
  return 0;
}

interface Work {
  readonly client: KubeClient;
  /** Of the lease. */
  readonly namespace: string;
  readonly subjects: Awaited<ReturnType<typeof readSubjects>>;
  readonly watches: AbortSignal;
  readonly operator: OperatorProcess;
}

/** From the first watch until the process is asked to stop. */
async function work({ client, namespace, subjects, watches, operator }: Work): Promise<void> {
  const { log, options, stop, onTaskFailure } = operator;
  const guard = await scrapeGuard(client, operator);
  const identity = `${hostname()}_${randomBytes(4).toString("hex")}`;
  const recorder = createEventRecorder({
    client,
    log,
    controller: LEASE_NAME,
    instance: identity,
    signal: watches,
    onTaskFailure,
  });
  const watch = wire({ client, events: recorder, subjects, watches, operator });
  const elector = options.leaderElect ? electorOf({ client, namespace, identity, operator, watch }) : undefined;
  const ready = [stopping(stop), ...readyChecks(watch, elector)];
  const closeEndpoints = await openEndpoints({ ...operator, ready, guard, required: true });
  try {
    await (elector === undefined ? leadAlone(operator) : standForElection(elector, operator));
    await endsWithin(LAST_WORDS_MS, recorder.flush(), log);
  } finally {
    await closeEndpoints();
  }
}

/** Again and again until the stop, whatever an election fails of. */
function standForElection(
  elector: Elector,
  { options, stop, onTaskFailure: onFailure }: OperatorProcess,
): Promise<void> {
  const { leaderElectRetryPeriod: baseMs, leaderElectLeaseDuration } = options;
  const backoff = { baseMs, maxMs: Math.max(baseMs, leaderElectLeaseDuration) };
  const task = { task: "leases", what: "lead or stand for election", signal: stop, backoff, onFailure } as const;
  return runTask(task, () => elector.run(stop));
}

/** Loaded only when it is asked for. */
async function scrapeGuard(client: KubeClient, operator: OperatorProcess): Promise<ScrapeGuard | undefined> {
  const { options } = operator;
  if (!options.metricsSecure || options.metricsBindAddress === "off") return undefined;
  const { openScrapeGuard } = await import("../metrics-access.ts");
  return openScrapeGuard(client, options.metricsCertDir, operator);
}

interface Wiring extends Omit<Work, "namespace"> {
  readonly events: EventRecorder;
}

function wire({ client, events, subjects, watches, operator }: Wiring): ClusterWatch {
  const { log, manager, options } = operator;
  // Before the API group is chosen only the Installation is read and answered, and that is the same in both.
  let datastore = openKubernetes({ client, flavour: "v3" });
  let apiGroup: string = UNDECIDED;
  const installation = late(() =>
    createInstallationReconciler({
      datastore,
      surroundings: surroundingsIn(apiGroup, () => watch.surroundings()),
      events: loggedEvents(events, log), // the roles' reconciler has a line of its own for each event
      clock: () => new Date(),
    }),
  );
  const rbac = createRbacReconciler({
    client,
    events,
    subjects,
    served: () => watch.servedGenerations(),
    installation: () => {
      // An Installation that cannot be read may say Paused: then no role is touched until it can be.
      if (watch.unread) throw new Error("the Installations cannot be listed, so the roles are left as they are");
      return watch.installation(SINGLETON_NAME);
    },
  });
  const look = manager.register(installation.reconciler, () => (watch.settled ? [SINGLETON_NAME] : []));
  const lookAtRoles = manager.register(rbac, () => (watch.settled ? [RBAC_KEY] : []));
  const policyChanged = followPolicy();
  const watch = watchCluster({
    client,
    log,
    signal: watches,
    idleTimeoutMs: options.watchIdleTimeout,
    retryMs: options.discoveryPeriod,
    onTaskFailure: operator.onTaskFailure,
    chooseGroup: () => chooseGroup(client, options.datastore, watches),
    onChosen: ({ generation }) => {
      datastore = openKubernetes({ client, flavour: generation });
      apiGroup = apiGroups[generation];
      installation.remake();
    },
    readPool: poolReader(log),
    onChange: () => {
      if (!watch.settled) return;
      look(SINGLETON_NAME);
      if (policyChanged(watch.installation(SINGLETON_NAME))) lookAtRoles(RBAC_KEY);
    },
    onServed: () => {
      if (watch.settled) lookAtRoles(RBAC_KEY);
    },
  });
  const onChange = () => {
    if (watch.settled) lookAtRoles(RBAC_KEY);
  };
  for (const type of Object.values(RBAC_TYPES)) {
    watch.kinds.watch({ type, needed: true, metadataOnly: true, labelSelector: RBAC_SELECTOR, onChange });
  }
  return watch;
}

/** Roles depend on nothing of the Installation but its policy. */
function followPolicy(): (installation: Installation | undefined) => boolean {
  let last: string | undefined = "";
  return (installation) => {
    const before = last;
    last = installation?.spec?.managementPolicy;
    return last !== before;
  };
}

/** What is so in one group must never decide a write to the other: a reconcile that meets a change-over starts again. */
function surroundingsIn(apiGroup: string, read: () => Surroundings): () => Surroundings {
  return () => {
    const surroundings = read();
    if (surroundings.blocked || surroundings.datastore.apiGroup === apiGroup) return surroundings;
    throw new LostRace(`the API group in use is ${surroundings.datastore.apiGroup} by now`);
  };
}

/** A reconciler that is made again when what it was made from has changed. */
function late(make: () => Reconciler): { readonly reconciler: Reconciler; remake(): void } {
  let current = make();
  const { name, group, kind } = current;
  return {
    reconciler: { name, group, kind, reconcile: (key, context) => current.reconcile(key, context) },
    remake: () => {
      current = make();
    },
  };
}

function electorOf({
  client,
  namespace,
  identity,
  operator,
  watch,
}: {
  client: KubeClient;
  namespace: string;
  identity: string;
  operator: OperatorProcess;
  watch: ClusterWatch;
}): Elector {
  const { log, options } = operator;
  return createElector({
    client,
    log,
    namespace,
    name: LEASE_NAME,
    identity,
    onTaskFailure: operator.onTaskFailure,
    leaseDurationMs: options.leaderElectLeaseDuration,
    renewDeadlineMs: options.leaderElectRenewDeadline,
    retryPeriodMs: options.leaderElectRetryPeriod,
    releaseOnCancel: options.leaderElectReleaseOnCancel,
    advice: leaseAdvice,
    onWentBack: (held, found) => {
      log.warn(
        { held, found },
        "The revision of the Lease went back: etcd was restored from a backup, so all is read again",
      );
      watch.kinds.relist();
    },
    ...electorCallbacks(leadershipOf(operator)),
  });
}

function leadershipOf(operator: OperatorProcess) {
  return { ...operator, graceMs: Math.max(1, operator.options.gracefulShutdownTimeout - 2 * LAST_WORDS_MS) };
}

function leadAlone(operator: OperatorProcess): Promise<void> {
  return serveTerm(operator.stop, leadershipOf(operator));
}

function readyChecks(watch: ClusterWatch, elector: Elector | undefined): (() => string | undefined)[] {
  return [
    () => {
      if (watch.synced) return undefined;
      const why = watch.surroundings().blocked?.message;
      return `Installations are not listed yet${why === undefined ? "" : `: ${why}`}`;
    },
    () => (elector === undefined || elector.hasReachedApi ? undefined : leaseMissing(elector.lastError)),
  ];
}
