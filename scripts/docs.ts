/** Writes what the documentation shows of the program: the transcripts of its pages, its pictures, the example bundle. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bundleLines } from "../src/cli/snapshot/bundle.ts";
import { exampleCluster } from "../test/support/example-cluster.ts";
import { pagePaths, readPage, withOutput } from "./docs/pages.ts";
import { pictures } from "./docs/pictures.ts";
import { staleFiles } from "./generate.ts";

const root = join(import.meta.dirname, "..");

/** Every file, by path from the repository's root. */
export async function documented(): Promise<Map<string, string>> {
  const files = await pictures();
  for (const path of pagePaths()) files.set(path, await withOutput(readPage(path)));
  return files.set("examples/cluster.bundle", [...bundleLines(exampleCluster)].join(""));
}

async function main(): Promise<void> {
  const files = await documented();
  for (const path of await staleFiles(files, root)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), files.get(path)!);
    console.log(`wrote ${path}`);
  }
}

if (process.argv[1] === import.meta.filename) await main();
