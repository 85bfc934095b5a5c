/**
 * Runs the benchmarks, all or those that are named; they print, and judge by ratios within one run.
 * `npm run bench -- [--smoke] [pools | blocks | reading | cli | operator ...]`; `--smoke`: a few rounds, to see that they work.
 */
import { parseArgs } from "node:util";
import { benchBlocks } from "./blocks.ts";
import { benchCli } from "./cli.ts";
import { benchOperator } from "./operator.ts";
import { benchPools } from "./pools.ts";
import { benchReading } from "./reading.ts";

const BENCHMARKS = {
  pools: benchPools,
  blocks: benchBlocks,
  reading: benchReading,
  cli: benchCli,
  operator: benchOperator,
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}; there are ${Object.keys(BENCHMARKS).join(", ")}.`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHMARKS)) {
  if (positionals.length === 0 || positionals.includes(name)) await bench(options);
}
