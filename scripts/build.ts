/**
 * Builds `dist/`, the contents of the npm package: the library as JavaScript with declarations, and the programs, which share
 * the files in `dist/programs/`. The image, the executable and the tests take bundles that need no dependency.
 */
import { spawnSync } from "node:child_process";
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import manifest from "../package.json" with { type: "json" };
import { bundlePlugins } from "./bundle-plugins.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

const licence = `/*! ${manifest.name} ${manifest.version}. ${manifest.license}: http://www.apache.org/licenses/LICENSE-2.0 */`;
const banner = ["#!/usr/bin/env node", licence, ...requireFrom("import.meta.url"), nodeCheck()].join("\n");

/** Some dependencies are CommonJS and call require() for Node's own modules, which an ES module does not have. */
function requireFrom(file: string): string[] {
  const module = 'import { createRequire as __createRequire } from "node:module";';
  return [module, `const require = __createRequire(${file});`];
}

/** Ends an older Node with one line, before it meets what it does not know. */
function nodeCheck(): string {
  const needed = manifest.engines.node.replace(">=", "");
  const [major, minor] = needed.split(".");
  const message = `"${manifest.name}: needs Node ${needed} or later, this is " + process.version + "\\n"`;
  return [
    "{",
    '  const [major, minor] = process.versions.node.split(".").map(Number);',
    `  if (major < ${major} || (major == ${major} && minor < ${minor})) {`,
    `    process.stderr.write(${message});`,
    "    process.exit(1);",
    "  }",
    "}",
  ].join("\n");
}

function compile(): void {
  const tsc = join(root, "node_modules", ".bin", process.platform === "win32" ? "tsc.cmd" : "tsc");
  const { status } = spawnSync(tsc, ["-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
}

const options = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node22",
  // Names stay: they are in stack traces, and giving shortened ones back to each function takes more memory than they do.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "eof",
  banner: { js: banner },
  plugins: bundlePlugins(root),
  logLevel: "warning",
} as const satisfies BuildOptions;

/** Makes the operator in one file, without dependencies. */
export async function bundleOperator(outfile: string): Promise<void> {
  await build({ ...options, entryPoints: ["src/main.ts"], outfile });
  await asciiOnly(outfile);
  await chmod(outfile, 0o755);
}

/** Makes ipamctl in one file as `scripts/executable.ts` needs it: inside an executable a module has no file of its own. */
export async function bundleForExecutable(outfile: string): Promise<void> {
  const js = [licence, ...requireFrom("process.execPath")].join("\n");
  await build({ ...options, entryPoints: ["src/cli/main.ts"], outfile, banner: { js } });
}

/**
 * Makes `ipamctl.mjs` in a folder, without dependencies: small, so that its help is there at once. What a verb needs is
 * loaded with the verb from `ipamctl/`.
 */
export async function bundleIpamctl(outdir: string): Promise<void> {
  await bundleInParts(outdir, "ipamctl", { ipamctl: "src/cli/main.ts" });
}

/** Dependencies that are cut to the parts in use when they are bundled; installed, they are loaded as a whole. */
const BUNDLED = ["@kubernetes/client-node", "commander"];

/** Makes the programs of the npm package. Most of what they need is installed with the package. */
async function bundlePrograms(outdir: string): Promise<void> {
  const external = Object.keys(manifest.dependencies).filter((name) => !BUNDLED.includes(name));
  const entryPoints = { ipamctl: "src/cli/main.ts", "ipam-operator": "src/main.ts" };
  await bundleInParts(outdir, "programs", entryPoints, external);
}

async function bundleInParts(
  outdir: string,
  parts: string,
  entryPoints: Readonly<Record<string, string>>,
  external: string[] = [],
): Promise<void> {
  const { metafile } = await build({
    ...options,
    entryPoints,
    external,
    outdir,
    outExtension: { ".js": ".mjs" },
    chunkNames: `${parts}/[name]-[hash]`,
    splitting: true,
    metafile: true,
    plugins: bundlePlugins(root, external),
  });
  for (const file of Object.keys(metafile.outputs)) await asciiOnly(join(root, file));
  for (const name of Object.keys(entryPoints)) await chmod(join(outdir, `${name}.mjs`), 0o755);
}

/** One letter that is not ASCII, in the name of a licence's author, makes the engine keep the text in a larger form. */
async function asciiOnly(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  await writeFile(file, text.replace(/[^\0-\x7f]/g, escaped));
}

async function main(): Promise<void> {
  await rm(dist, { recursive: true, force: true });
  compile();
  await bundlePrograms(dist);
  console.error("dist/: library, ipam-operator, ipamctl"); // `npm pack --json` owns stdout
}

if (process.argv[1] === import.meta.filename) await main();
