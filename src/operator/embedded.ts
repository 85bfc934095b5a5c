/** The operator on the embedded store: manifests are a folder of YAML files, events are lines on the terminal. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Surroundings } from "../../reconcilers/installation/surroundings.ts";
import { createInstallationReconciler } from "../../reconcilers/installation.ts";
import { SINGLETON_NAME } from "../api/installation.ts";
import type { IPPool } from "../api/v3.ts";
import type { Datastore, Kind } from "../datastore/datastore.ts";
import { openEmbedded } from "../datastore/embedded.ts";
import { type Console, createConsole } from "./console.ts";
import { openEndpoints } from "./endpoints.ts";
import { errorText } from "./log.ts";
import { readManifestFolder, watchManifestFolder } from "./manifest-folder.ts";
import { createManifestSync } from "./manifest-sync.ts";
import { type OperatorProcess, stopping } from "./process.ts";
import { endsWithin } from "./shutdown.ts";

/** Runs until the process is asked to stop. @returns the exit code */
export async function runEmbedded(path: string, operator: OperatorProcess): Promise<number> {
  const { manager, options, log, stop } = operator;
  await mkdir(dirname(path), { recursive: true });
  const datastore = openEmbedded(path);
  const terminal = terminalConsole(options.manifests);
  const synced = { files: false };
  const closeEndpoints = await openEndpoints({
    ...operator,
    ready: [stopping(stop), () => (synced.files ? undefined : "the manifests have not been read yet")],
    required: false,
  });
  await syncFolder(datastore, terminal, operator);
  synced.files = true;
  if (!stop.aborted) await work(datastore, terminal, operator);
  const clean = await endsWithin(options.gracefulShutdownTimeout, manager.stop("drain"), log);
  await closeEndpoints();
  await datastore.close();
  return clean ? 0 : 1;
}

/** What begins only once the manifests are read: until the stop. */
async function work(datastore: Datastore, terminal: Console, operator: OperatorProcess): Promise<void> {
  const { items } = await datastore.list("Installation");
  if (items.length === 0) terminal.installation(undefined);
  followStore(datastore, terminal, operator);
  operator.manager.start();
  await aborted(operator.stop);
}

function terminalConsole(folder: string): Console {
  const nextStep =
    `Try it: change a value in ${folder}/installation.yaml and save it. Or break a rule: strictAffinity: false beside\n` +
    "maxBlocksPerHost: 8 is refused, and the last good configuration stays in force. Ctrl-C ends it.";
  return createConsole({
    write: (text) => process.stdout.write(text),
    nextStep,
    colour: process.stdout.hasColors?.() ?? false,
  });
}

/** Once now, then after each change, one after the other. */
async function syncFolder(datastore: Datastore, terminal: Console, { options, log, stop }: OperatorProcess) {
  const folder = options.manifests;
  const sync = createManifestSync(datastore, (event) => terminal.file(folder, event));
  let told = "";
  const syncNow = async () => {
    try {
      await sync.sync(await readManifestFolder(folder));
      told = "";
    } catch (error) {
      const text = errorText(error);
      if (text !== told && !stop.aborted) log.warn(`Manifests are not read: ${text}. What is stored stays in force.`);
      told = text;
    }
  };
  let last = syncNow();
  watchManifestFolder(
    folder,
    () => {
      last = last.then(syncNow);
    },
    stop,
  );
  await last;
}

/** Watches the store: a change wakes the reconciler, a new answer of the Installation is said. */
function followStore(datastore: Datastore, terminal: Console, { manager, log, stop }: OperatorProcess): void {
  const pools = new Map<string, IPPool>();
  const reconciler = createInstallationReconciler({
    datastore,
    surroundings: () => surroundingsOf([...pools.values()]),
    events: terminal,
    clock: () => new Date(),
  });
  const enqueue = manager.register(reconciler, () => [SINGLETON_NAME]);
  const follow = async <K extends Kind>(kind: K, seen: (event: FollowedEvent<K>) => void) => {
    for await (const event of datastore.watch(kind, { signal: stop })) {
      seen(event);
      enqueue(SINGLETON_NAME);
    }
  };
  const failed = (error: unknown) => !stop.aborted && log.error({ error }, "Watching the embedded store failed");
  follow("Installation", ({ type, object }) => terminal.installation(type === "Deleted" ? undefined : object)).catch(
    failed,
  );
  follow("IPAMConfiguration", () => {}).catch(failed);
  follow("IPPool", ({ type, object }) => {
    if (type === "Deleted") pools.delete(object.metadata.name);
    else pools.set(object.metadata.name, object);
  }).catch(failed);
}

type FollowedEvent<K extends Kind> = import("../datastore/datastore.ts").DatastoreEvent<K>;

function surroundingsOf(pools: readonly IPPool[]): Surroundings {
  return {
    datastore: { apiGroup: "embedded", chosenBy: "Embedded: no cluster is used" },
    servedFields: undefined,
    nodes: [],
    pools,
    datastoreLocked: false,
    foreignIpam: undefined,
    blocked: undefined,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
