/** The workload in one file: the library and a loop. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { bundlePlugins } from "../../../scripts/bundle-plugins.ts";
import { root } from "../page.ts";

/** Compressed, since a ConfigMap holds a MiB at most; base64, as its binaryData has it. */
export async function bundledWorker(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(import.meta.dirname, "worker.ts")],
    write: false,
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    plugins: bundlePlugins(root),
    // Some dependencies are CommonJS and call require() for Node's own modules.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return gzipSync(outputFiles[0]!.contents).toString("base64");
}
