/** The npm package as a user gets it: packed from this checkout, installed in a folder of its own. */
import { execFile, type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const npm = promisify(execFile);
const FLAGS = ["--prefer-offline", "--no-audit", "--no-fund"];

export interface PackedPackage {
  readonly size: number;
  /** Paths inside the package. */
  readonly files: readonly string[];
  /** Where it is installed; examples and programs run here. */
  readonly user: string;
  /** The executable of this version of Node. */
  node(version: string): Promise<string>;
  /** Runs tsc in the user's folder. */
  compile(options: object, files: readonly string[]): SpawnSyncReturns<string>;
  remove(): Promise<void>;
}

export async function packedPackage(): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), "package-"));
  const user = join(folder, "user");
  const { stdout } = await npm("npm", ["pack", "--json", "--silent", "--pack-destination", folder], { cwd: root });
  const [packed] = JSON.parse(stdout) as [{ filename: string; size: number; files: { path: string }[] }];
  await mkdir(user);
  await writeFile(join(user, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  await npm("npm", ["install", ...FLAGS, join(folder, packed.filename)], { cwd: user });
  const nodes = new Map<string, Promise<string>>();
  return {
    size: packed.size,
    files: packed.files.map(({ path }) => path),
    user,
    node(version) {
      const known = nodes.get(version) ?? installedNode(join(folder, `node-${version}`), version);
      nodes.set(version, known);
      return known;
    },
    compile(options, files) {
      const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      return spawnSync(process.execPath, [tsc, ...flags, ...files], { cwd: user, encoding: "utf8" });
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

async function installedNode(prefix: string, version: string): Promise<string> {
  await npm("npm", ["install", ...FLAGS, "--prefix", prefix, `node@${version}`]);
  return join(prefix, "node_modules/node/bin/node");
}
