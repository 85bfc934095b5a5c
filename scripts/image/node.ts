/** Node and all it needs to run on an empty root file system, on the architecture of this machine. */
import { spawnSync } from "node:child_process";
import { chmod, copyFile, cp, mkdir, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type DebianPackage, packagesOf } from "./debian.ts";

const root = join(import.meta.dirname, "../..");
/** Where distroless has it too. */
const NODE = "nodejs/bin/node";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/** A part of the image, as the bill of materials names it. */
export interface Component {
  readonly type: "application" | "library";
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

/** Copies them into `out`, and says what they are. */
export async function layOutNode(out: string): Promise<Component[]> {
  const node = join(root, "node_modules/node/bin/node");
  await cp(join(root, "image"), out, { recursive: true });
  await put(node, join(out, NODE));
  strip(join(out, NODE));
  await put(join(distribution(), "LICENSE"), join(out, "nodejs/LICENSE"));
  const files = [...librariesOf(node), ...(await exists(CERTIFICATES))];
  for (const file of files) await put(file, join(out, file));
  const packages = packagesOf(files);
  for (const { copyright } of packages) await put(copyright, join(out, copyright));
  return [nodeComponent(node), ...packages.map(libraryComponent)];
}

/** The file itself where it is a link. */
async function put(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
  await chmod(to, (await stat(from)).mode | 0o444);
}

const exists = (path: string) =>
  stat(path).then(
    () => [path],
    () => [],
  );

/** The symbol tables are a fifth of Node, and only debuggers read them. */
function strip(file: string): void {
  const { status, error, stderr } = spawnSync("strip", ["--strip-unneeded", file], { encoding: "utf8" });
  if (status !== 0) throw new Error(`strip: ${error?.message ?? stderr} (install binutils)`);
}

/** Absolute paths of the shared libraries and of the loader, as the loader of this machine finds them. */
export function librariesOf(program: string): string[] {
  const { status, error, stdout, stderr } = spawnSync("ldd", [program], { encoding: "utf8" });
  if (status !== 0) throw new Error(`ldd ${program}: ${error?.message ?? stderr}`);
  const missing = stdout.match(/^.*not found.*$/m);
  if (missing) throw new Error(`ldd ${program}: ${missing[0].trim()}: install that library`);
  return [...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, path]) => path!);
}

/** The folder of the package that holds Node for this architecture. */
function distribution(): string {
  const require = createRequire(join(root, "node_modules/node/package.json"));
  return dirname(require.resolve(`node-linux-${process.arch}/package.json`));
}

function nodeComponent(node: string): Component {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim().replace(/^v/, "");
  return { type: "application", name: "node", version, purl: `pkg:generic/node@${version}` };
}

const libraryComponent = ({ name, version, architecture }: DebianPackage): Component => ({
  type: "library",
  name,
  version,
  purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture ?? "all"}`,
});
