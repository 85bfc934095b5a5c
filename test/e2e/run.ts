/**
 * `npm run e2e`: the end-to-end tests on a kind cluster. `-- --help` lists the flags.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endRunningEngine } from "../kind/engine-process.ts";
import { clusterVariable, keepVariable } from "./cluster-setup.ts";

const help = `npm run e2e -- [flags] [test files]
  --kind NAME  use this kind cluster and leave it; otherwise one is made, see test/kind/README.md
  --keep       leave the cluster that was made, and say how to use it
  --down       end a cluster that an earlier run kept`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: "string" },
    keep: { type: "boolean", default: false },
    down: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(help);
} else if (values.down) {
  const there = await endRunningEngine();
  console.log(there ? "The kept cluster is gone." : "There is no kept cluster.");
} else {
  process.exitCode = runTests();
}

function runTests(): number {
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const settings = { [clusterVariable]: values.kind ?? "", [keepVariable]: String(values.keep) };
  const env = { ...process.env, ...settings };
  const { status } = spawnSync(process.execPath, [vitest, "run", "--project", "e2e", ...positionals], {
    env,
    stdio: "inherit",
  });
  return status ?? 1;
}
