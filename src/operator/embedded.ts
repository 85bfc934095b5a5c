/** The operator on the embedded store: manifests are a folder of YAML files, events are lines on the terminal. */
import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import type { Surroundings } from "../../reconcilers/installation/surroundings.ts";
import { createInstallationReconciler } from "../../reconcilers/installation.ts";
import { SINGLETON_NAME } from "../api/installation.ts";
import type { IPPool } from "../api/v3.ts";
import { type Datastore, DatastoreError, isDatastoreError, type Kind } from "../datastore/datastore.ts";
import { openEmbedded } from "../datastore/embedded.ts";
import { runTask, startTask } from "../kube/background.ts";
import { sleep } from "../kube/backoff.ts";
import { type Console, createConsole } from "./console.ts";
import { openEndpoints } from "./endpoints.ts";
import { howToBegin, tryIt } from "./first-steps.ts";
import { errorText } from "./log.ts";
import { readManifestFolder, watchManifestFolder } from "./manifest-folder.ts";
import { fileWithin } from "./manifest-origin.ts";
import { createManifestSync } from "./manifest-sync.ts";
import { DEFAULT_STORE } from "./place.ts";
import { type OperatorProcess, stopping } from "./process.ts";
import { refusedToday } from "./refused-today.ts";
import { endsWithin } from "./shutdown.ts";

/** Runs until the process is asked to stop, or the store is lost. @returns the exit code */
export async function runEmbedded(path: string, operator: OperatorProcess): Promise<number> {
  const { manager, options, log } = operator;
  if (path === DEFAULT_STORE) await mkdir(dirname(path), { recursive: true });
  const datastore = openEmbedded(path);
  const lost = new AbortController();
  const stop = AbortSignal.any([operator.stop, lost.signal]);
  const terminal = terminalConsole(path, options.manifests);
  const synced = { files: false };
  const closeEndpoints = await openEndpoints({
    ...operator,
    ready: [stopping(stop), () => (synced.files ? undefined : "the manifests have not been read yet")],
    required: false,
  });
  const folder = followFolder({ path, datastore, terminal, operator: { ...operator, stop }, lost });
  await Promise.race([folder.first, folder.ended]);
  synced.files = true;
  if (!stop.aborted) {
    await work(datastore, terminal, { ...operator, stop }, lost).catch((error: unknown) => lost.abort(error));
  }
  const clean = await endsWithin(options.gracefulShutdownTimeout, manager.stop("drain"), log);
  await folder.ended;
  await closeEndpoints();
  await datastore.close();
  if (lost.signal.aborted) throw lost.signal.reason;
  return clean ? 0 : 1;
}

/** What begins only once the manifests are read: until the stop. */
async function work(datastore: Datastore, terminal: Console, operator: OperatorProcess, lost: AbortController) {
  for (const sentence of await refusedToday(datastore)) operator.log.warn(sentence);
  const { items, malformed } = await datastore.list("Installation");
  for (const { name, reason } of malformed) operator.log.error(`Installation ${name} cannot be read: ${reason}`);
  if (items.length === 0 && malformed.length === 0) terminal.installation(undefined);
  followStore(datastore, terminal, operator, lost);
  operator.manager.start();
  await aborted(operator.stop);
}

function terminalConsole(path: string, folder: string): Console {
  return createConsole({
    write: (text) => process.stdout.write(text),
    nextStep: (installation) =>
      installation === undefined
        ? howToBegin(folder)
        : tryIt(folder, fileWithin(folderInStore(path, folder), installation)),
    colour: process.stdout.hasColors?.() ?? false,
  });
}

/** The folder as seen from the store, so that both may be moved together. */
function folderInStore(path: string, folder: string): string {
  return relative(dirname(resolve(path)), resolve(folder)) || ".";
}

interface FollowedFolder {
  readonly path: string;
  readonly datastore: Datastore;
  readonly terminal: Console;
  readonly operator: OperatorProcess;
  /** Aborted with the reason when the store is damaged or gone: trying again cannot help. */
  readonly lost: AbortController;
}

/** For what a watch of the folder does not see: the target of a link, a store that is free again. */
const POLL_MS = 1000;
const PAUSE = { baseMs: POLL_MS, maxMs: 30_000 };

/** Takes the folder in after each change and every second, one pass after the other, until the stop. */
function followFolder({ path, datastore, terminal, operator, lost }: FollowedFolder) {
  const { options, log, stop, onTaskFailure: onFailure } = operator;
  const folder = options.manifests;
  const sync = createManifestSync({
    datastore,
    folder: folderInStore(path, folder),
    tell: (event) => terminal.file(folder, event),
    stop,
  });
  const opened = fileAt(path);
  const first = Promise.withResolvers<void>();
  let wake = new AbortController();
  let told = "";
  const pass = async () => {
    try {
      expectStoreFile(path, opened);
      await sync.sync(await readManifestFolder(folder));
      if (told !== "") log.warn("Manifests are taken in again.");
      told = "";
    } catch (error) {
      if (isLost(error)) return lost.abort(error);
      const text = errorText(error);
      if (text !== told && !stop.aborted) log.warn(`Manifests are not taken in yet, this is tried again: ${text}`);
      told = text;
    } finally {
      first.resolve();
    }
  };
  const passes = async () => {
    while (!stop.aborted) {
      wake = new AbortController();
      await pass();
      await sleep(POLL_MS, AbortSignal.any([stop, wake.signal]));
    }
  };
  const task = { task: "manifests", what: "sync the manifests", signal: stop, backoff: PAUSE, onFailure } as const;
  watchManifestFolder(folder, () => wake.abort(), stop);
  return { first: first.promise, ended: runTask(task, passes) };
}

/** A store that is damaged or gone: trying again cannot help. */
function isLost(error: unknown): boolean {
  return isDatastoreError(error, "Invalid") && error.kind === "";
}

/** Which file the path names now; another one after it was removed or replaced. */
const fileAt = (path: string) => (path === ":memory:" ? path : statSync(path, { throwIfNoEntry: false })?.ino);

/** What is written into a file that was removed would be lost with this process. */
function expectStoreFile(path: string, opened: ReturnType<typeof fileAt>): void {
  const now = fileAt(path);
  if (now === opened) return;
  const message =
    now === undefined
      ? `the store ${path} was removed while it was in use: start again for a new one, or put a copy back first`
      : `the store ${path} was replaced by another file while it was in use: start again to work on that one`;
  throw new DatastoreError("Invalid", "", path, message);
}

/** Watches the store: a change wakes the reconciler, a new answer of the Installation is said. */
function followStore(
  datastore: Datastore,
  terminal: Console,
  { manager, stop, onTaskFailure: onFailure }: OperatorProcess,
  lost: AbortController,
): void {
  const pools = new Map<string, IPPool>();
  const reconciler = createInstallationReconciler({
    datastore,
    surroundings: () => surroundingsOf([...pools.values()]),
    events: terminal,
    clock: () => new Date(),
  });
  const enqueue = manager.register(reconciler, () => [SINGLETON_NAME]);
  const follow = <K extends Kind>(kind: K, seen: (event: FollowedEvent<K>) => void, begin = () => {}) => {
    const events = async () => {
      begin();
      for await (const event of datastore.watch(kind, { signal: stop })) {
        seen(event);
        enqueue(SINGLETON_NAME);
      }
    };
    const task = { task: "reflectors", what: `watch ${kind}`, signal: stop, backoff: PAUSE, onFailure } as const;
    startTask(task, () => events().catch(endIfLost));
  };
  // Without its watch the operator would be deaf: ending with the reason is better where trying again cannot help.
  const endIfLost = (error: unknown) => {
    if (!isLost(error)) throw error;
    lost.abort(error);
  };
  follow("Installation", ({ type, object }) => terminal.installation(type === "Deleted" ? undefined : object));
  follow("IPAMConfiguration", () => {});
  const note = ({ type, object }: FollowedEvent<"IPPool">) => {
    if (type === "Deleted") pools.delete(object.metadata.name);
    else pools.set(object.metadata.name, object);
  };
  follow("IPPool", note, () => pools.clear());
}

type FollowedEvent<K extends Kind> = import("../datastore/datastore.ts").DatastoreEvent<K>;

function surroundingsOf(pools: readonly IPPool[]): Surroundings {
  return {
    datastore: { apiGroup: "embedded", chosenBy: "Embedded: no cluster is used" },
    servedFields: undefined,
    servedAttributes: undefined,
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
