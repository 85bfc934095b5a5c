/**
 * Builds `dist/`: JavaScript with declarations for those who import the library, and `dist/ipam-operator.mjs`, the
 * operator in one file without dependencies.
 */
import { spawnSync } from "node:child_process";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import manifest from "../package.json" with { type: "json" };
import { bundlePlugins } from "./bundle-plugins.ts";

const root = join(import.meta.dirname, "..");
/** The operator in one file. */
export const bundle = join(root, "dist", "ipam-operator.mjs");

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

/** Makes the operator in one file. */
export async function bundleOperator(outfile = bundle): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts"],
    outfile,
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
  });
  await asciiOnly(outfile);
  await chmod(outfile, 0o755);
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
  console.log(`dist/: library; dist/ipam-operator.mjs: operator, ${Math.round((await stat(bundle)).size / 1024)} kB`);
}

if (process.argv[1] === import.meta.filename) await main();
