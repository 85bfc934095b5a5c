/**
 * Builds `dist/`: JavaScript with declarations for those who import the library, and `dist/ipam-operator.mjs`, the
 * operator in one file without dependencies.
 */
import { spawnSync } from "node:child_process";
import { chmod, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import manifest from "../package.json" with { type: "json" };

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

/**
 * Of client-node only the reading of kubeconfigs is used. Imported whole it brings 6 MB of generated calls; entered by its
 * own module, and with the promise that its other modules do nothing by themselves, the bundler leaves them out.
 */
const onlyKubeconfigs: Plugin = {
  name: "only-kubeconfigs",
  setup({ onResolve }) {
    const folder = join(root, "node_modules/@kubernetes/client-node/dist");
    onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({
      path: join(folder, "config.js"),
      sideEffects: false,
    }));
    onResolve({ filter: /^\.\.?\// }, ({ resolveDir, path }) =>
      resolveDir.startsWith(folder) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/** zod brings its messages in fifty languages; only the English ones are ever asked for. */
const onlyEnglish: Plugin = {
  name: "only-english",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/locales\/index\.js$/ }, ({ resolveDir }) => ({
      path: join(resolveDir, "../locales/en.js"),
      sideEffects: false,
    }));
  },
};

/**
 * All imports of a module are linked before its first line runs, and a Node without SQLite would fail there, before the
 * check of its version. So this one is loaded when the embedded store is.
 */
const lateSqlite: Plugin = {
  name: "late-sqlite",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:sqlite$/ }, ({ path }) => ({ path, namespace: "late-sqlite" }));
    onLoad({ filter: /.*/, namespace: "late-sqlite" }, () => ({
      contents: 'export const { DatabaseSync } = process.getBuiltinModule("node:sqlite");',
    }));
  },
};

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
    minify: true,
    keepNames: true,
    legalComments: "eof",
    banner: { js: banner },
    plugins: [onlyKubeconfigs, onlyEnglish, lateSqlite],
    logLevel: "warning",
  });
  await chmod(outfile, 0o755);
}

async function main(): Promise<void> {
  await rm(join(root, "dist"), { recursive: true, force: true });
  compile();
  await bundleOperator();
  console.log(`dist/: library; dist/ipam-operator.mjs: operator, ${Math.round((await stat(bundle)).size / 1024)} kB`);
}

if (process.argv[1] === import.meta.filename) await main();
