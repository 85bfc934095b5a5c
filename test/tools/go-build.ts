/**
 * Programs of the tests that are built from Go modules: once, into a folder outside the checkout whose name is a hash of
 * all that decides what the compiler yields. Processes that want the same programs wait for the one that builds.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { withFileLock } from "../control-plane/file-lock.ts";

const run = promisify(execFile);
const always = ["build", "-trimpath", "-buildvcs=false"];

/** One program: `package` (an import path, or "./folder" in the module), as the go.mod in the folder `module` pins it. */
export interface GoProgram {
  readonly name: string;
  readonly module: string;
  readonly package: string;
  /** Build tags, separated by commas. */
  readonly tags?: string;
  /** Needs a C compiler and the headers of what it links. Default: none of that. */
  readonly cgo?: boolean;
}

/** Programs that are built and kept together. */
export interface GoBuild {
  /** Folder in the cache, and the name in front of what is printed. */
  readonly name: string;
  readonly programs: readonly GoProgram[];
  /** For the linker; symbols and debugging tables are always left out. */
  readonly ldflags?: readonly string[];
  /** How long it takes, for a person who waits: "about a minute". */
  readonly takes: string;
  /** What a person without Go can do, in the imperative: "install helm 3 or 4". */
  readonly instead: string;
}

/** Where this project keeps what is dear to make, outside the checkout. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const folder =
    env["IPAM_OPERATOR_CACHE"] || join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "ipam-operator");
  return resolve(folder);
}

/** Finds the programs in the cache or builds them there, saying so on stderr; returns their folder. */
export async function ensureGoPrograms(build: GoBuild, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = join(cacheFolder(env), build.name, await keyOf(build, env));
  const isComplete = () => build.programs.every(({ name }) => existsSync(join(folder, name)));
  if (isComplete()) return folder;
  return withFileLock(`${folder}.lock`, async () => (isComplete() ? folder : buildAll(build, folder, env)));
}

/** Everything that decides what `go build` yields: another key, another folder. */
async function keyOf(build: GoBuild, env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash("sha256").update(await goVersion(build, env));
  hash.update([...always, ...linking(build)].join("\0"));
  for (const { tags, cgo } of build.programs) if (tags || cgo) hash.update(`${tags} ${cgo}`);
  for (const file of await sources(build)) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

/** The modules' files of versions, and the sources of their own packages; all else is pinned by go.sum. */
async function sources({ programs }: GoBuild): Promise<string[]> {
  const modules = [...new Set(programs.map(({ module }) => module))];
  const versions = modules.flatMap((module) => [join(module, "go.mod"), join(module, "go.sum")]);
  const own = programs.filter((program) => program.package.startsWith("."));
  const code = await Promise.all(own.map((program) => goFiles(join(program.module, program.package))));
  return [...versions.filter((file) => existsSync(file)), ...code.flat()];
}

async function goFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name.endsWith(".go"))
    .sort()
    .map((name) => join(folder, name));
}

async function goVersion(build: GoBuild, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return (await run("go", ["version"], { cwd: build.programs[0]!.module, env })).stdout;
  } catch (cause) {
    throw new Error(
      `Building ${namesOf(build)} needs \`go\` (1.26 or newer) on the PATH. ` +
        `Install it from https://go.dev/dl, or ${build.instead}.`,
      { cause },
    );
  }
}

async function buildAll(build: GoBuild, folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const started = Date.now();
  say(build, `building ${namesOf(build)} into ${folder}, once:`);
  say(build, `${build.takes} ...`);
  await removePartial(folder);
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    for (const program of build.programs) await compile(build, program, partial, env);
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  say(build, `built in ${secondsSince(started)} s; the next run finds them.`);
  return folder;
}

/** What a build that was killed has left; its lock is ours now. */
async function removePartial(folder: string): Promise<void> {
  const beside = dirname(folder);
  const left = (await readdir(beside)).filter((name) => name.startsWith(`${basename(folder)}.partial-`));
  for (const name of left) await rm(join(beside, name), { recursive: true, force: true });
}

async function compile(build: GoBuild, program: GoProgram, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const started = Date.now();
  const tags = program.tags ? ["-tags", program.tags] : [];
  const args = [...always, ...linking(build), ...tags, "-o", join(folder, program.name), program.package];
  const goEnv = { ...env, CGO_ENABLED: program.cgo ? "1" : "0", GOWORK: "off" };
  await run("go", args, { cwd: program.module, env: goEnv, maxBuffer: 64 << 20 });
  say(build, `  ${program.name}: ${secondsSince(started)} s`);
}

const linking = ({ ldflags = [] }: GoBuild) => ["-ldflags", ["-s", "-w", ...ldflags].join(" ")];

const namesOf = ({ programs }: GoBuild) => programs.map(({ name }) => name).join(", ");

const secondsSince = (started: number) => Math.round((Date.now() - started) / 1000);

function say({ name }: GoBuild, line: string): void {
  process.stderr.write(`${name}: ${line}\n`);
}
