/**
 * Builds `dist/`: JavaScript with declarations for those who import the library; and without dependencies the operator in
 * one file, `dist/ipam-operator.mjs`, and `dist/ipamctl.mjs` with what its verbs load from `dist/ipamctl/`.
 */
import { spawnSync } from "node:child_process";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import manifest from "../package.json" with { type: "json" };
import { bundlePlugins } from "./bundle-plugins.ts";

const root = join(import.meta.dirname, "..");
/** The operator in one file. */
export const bundle = join(root, "dist", "ipam-operator.mjs");
/** Where ipamctl is built to. */
const ipamctl = join(root, "dist");

// Some dependencies are CommonJS and call require() for Node's own modules, which an ES module does not have.
const banner = [
  "#!/usr/bin/env node",
  `/*! ${manifest.name} ${manifest.version}. ${manifest.license}: http://www.apache.org/licenses/LICENSE-2.0 */`,
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  nodeCheck(),
].join("\n");

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

/** Makes the operator in one file. */
export async function bundleOperator(outfile = bundle): Promise<void> {
  await build({ ...options, entryPoints: ["src/main.ts"], outfile });
  await asciiOnly(outfile);
  await chmod(outfile, 0o755);
}

/** Makes `ipamctl.mjs` in a folder: small, so that its help is there at once. What a verb needs is loaded with the verb. */
export async function bundleIpamctl(outdir = ipamctl): Promise<void> {
  const { metafile } = await build({
    ...options,
    entryPoints: { ipamctl: "src/cli/main.ts" },
    outdir,
    outExtension: { ".js": ".mjs" },
    chunkNames: "ipamctl/[name]-[hash]",
    splitting: true,
    metafile: true,
  });
  for (const file of Object.keys(metafile.outputs)) await asciiOnly(join(root, file));
  await chmod(join(outdir, "ipamctl.mjs"), 0o755);
}

/** One letter that is not ASCII, in the name of a licence's author, makes the engine keep the text in a larger form. */
async function asciiOnly(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  await writeFile(file, text.replace(/[^\0-\x7f]/g, escaped));
}

async function main(): Promise<void> {
  await rm(join(root, "dist"), { recursive: true, force: true });
  compile();
  await bundleOperator();
  await bundleIpamctl();
  console.log(
    `dist/: library, ipamctl; dist/ipam-operator.mjs: operator, ${Math.round((await stat(bundle)).size / 1024)} kB`,
  );
}

if (process.argv[1] === import.meta.filename) await main();
