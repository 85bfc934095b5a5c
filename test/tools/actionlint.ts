/** actionlint, built from its Go module: checks the workflows of `.github`. */
import { join } from "node:path";
import { ensureGoPrograms } from "./go-build.ts";

const module = join(import.meta.dirname, "actionlint");
const build = {
  name: "actionlint",
  programs: [{ name: "actionlint", module, package: "github.com/rhysd/actionlint/cmd/actionlint" }],
  takes: "half a minute on two cores",
  instead: "leave test/tools/workflows.program.test.ts out",
} as const;

/** The path of an actionlint, built into the cache. */
export async function ensureActionlint(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  return join(await ensureGoPrograms(build, env), "actionlint");
}
