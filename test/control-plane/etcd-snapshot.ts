/** Backups of etcd, taken and restored by etcd's own tools, which are built from their Go modules when first needed. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGoPrograms, type GoBuild } from "../tools/go-build.ts";

const run = promisify(execFile);
const module = join(import.meta.dirname, "etcd-tools");

const build: GoBuild = {
  name: "etcd-tools",
  programs: [
    { name: "etcdctl", module, package: "go.etcd.io/etcd/etcdctl/v3" },
    { name: "etcdutl", module, package: "go.etcd.io/etcd/etcdutl/v3" },
  ],
  takes: "a few seconds when Go has compiled etcd before, a minute when not",
  instead: "leave out the tests that restore etcd",
};

export interface RestoreOptions {
  /** How far revisions jump ahead; older ones are then marked as compacted. Default: they go on from the backup's. */
  readonly bumpRevision?: number;
}

/** Builds the tools before a test's own time limit runs. */
export async function ensureEtcdTools(): Promise<void> {
  await ensureGoPrograms(build);
}

/** Saves what the etcd at `endpoint` holds. */
export async function saveSnapshot(endpoint: string, file: string): Promise<void> {
  const folder = await ensureGoPrograms(build);
  await run(join(folder, "etcdctl"), ["--endpoints", endpoint, "snapshot", "save", file]);
}

/** Makes a new data folder from a backup, for the member that `etcdFlags` are of. */
export async function restoreSnapshot(
  file: string,
  dataFolder: string,
  etcdFlags: readonly string[],
  { bumpRevision }: RestoreOptions = {},
): Promise<void> {
  const folder = await ensureGoPrograms(build);
  const membership = etcdFlags.filter((flag) => /^--(name|initial-)/.test(flag));
  const bump = bumpRevision === undefined ? [] : [`--bump-revision=${bumpRevision}`, "--mark-compacted"];
  const args = ["snapshot", "restore", file, `--data-dir=${dataFolder}`, ...membership, ...bump];
  await run(join(folder, "etcdutl"), args);
}
