/**
 * Writes every generated file: CRDs, admission policies, RBAC manifests, charts, reference pages.
 * With `--check` it writes nothing and fails, naming each file that is stale.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { generateRbac } from "../rbac/generate.ts";
import { generateReasonsReference } from "../reconcilers/installation/reference.ts";
import { generateVerbsReference } from "../src/cli/reference.ts";
import { generateFindingsReference } from "../src/judgement/reference.ts";
import { generateMetricsReference } from "../src/operator/metrics.ts";
import { generateFlagsReference } from "../src/operator/options.ts";
import { generateCharts } from "./chart/charts.ts";
import { generateCrds } from "./crd/crds.ts";
import { generatePolicies } from "./crd/policies.ts";
import { generateReference } from "./crd/reference.ts";
import { generateLibraryErrors } from "./library/errors-page.ts";

/** Each returns file contents by path from the repository's root. */
const generators: readonly (() => ReadonlyMap<string, string>)[] = [
  generateCrds,
  generatePolicies,
  generateRbac,
  generateCharts,
  generateReference,
  generateMetricsReference,
  generateFlagsReference,
  generateReasonsReference,
  generateFindingsReference,
  generateVerbsReference,
  generateLibraryErrors,
];
const root = join(import.meta.dirname, "..");

/** Every generated file, by path from the repository's root. */
export function generateAll(): Map<string, string> {
  return new Map(generators.flatMap((generate) => [...generate()]));
}

/** Paths of the files below `root` that are missing or differ. */
export async function staleFiles(files: ReadonlyMap<string, string>, root: string): Promise<string[]> {
  const stale = await Promise.all(
    [...files].map(async ([path, content]) => {
      const found = await readFile(join(root, path), "utf8").catch(() => undefined);
      return found === content ? [] : [path];
    }),
  );
  return stale.flat();
}

async function main(check: boolean): Promise<void> {
  const files = generateAll();
  const stale = await staleFiles(files, root);
  if (check && stale.length > 0) {
    console.error(`Stale generated files (run \`npm run generate\` and commit them):\n  ${stale.join("\n  ")}`);
    process.exitCode = 1;
  }
  if (check) return;
  for (const path of stale) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), files.get(path)!);
    console.log(`wrote ${relative(process.cwd(), join(root, path))}`);
  }
}

if (process.argv[1] === import.meta.filename) await main(process.argv.includes("--check"));
