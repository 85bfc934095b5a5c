/** The image of the workload: the library and a loop, in one file. */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { bundlePlugins } from "../../../scripts/bundle-plugins.ts";
import type { Cluster } from "../../kind/cluster.ts";
import { root } from "../page.ts";

export const WORKLOAD_IMAGE = "ipam-operator-test/workload:e2e";

/** Builds it on the operator's image, `base`, and loads it into the nodes. */
export async function loadWorkload({ docker, loadImage }: Cluster, base: string): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), "workload-"));
  try {
    await bundle(join(context, "worker.mjs"));
    await copyFile(join(import.meta.dirname, "Dockerfile"), join(context, "Dockerfile"));
    await docker.build({ context, tag: WORKLOAD_IMAGE, args: { BASE: base } });
    const tar = join(context, "image.tar");
    await docker.save([WORKLOAD_IMAGE], tar);
    await loadImage(tar);
  } finally {
    await rm(context, { recursive: true });
  }
}

async function bundle(outfile: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["test/e2e/workload/worker.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    plugins: bundlePlugins(root),
    // Some dependencies are CommonJS and call require() for Node's own modules.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
}
