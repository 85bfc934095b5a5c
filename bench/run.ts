/** Runs the benchmarks; they print, and judge by ratios within one run. `--smoke`: a few rounds, to see that they work. */
import { benchBlocks } from "./blocks.ts";
import { benchOperator } from "./operator.ts";
import { benchPools } from "./pools.ts";
import { benchReading } from "./reading.ts";

const options = { smoke: process.argv.includes("--smoke") };

await benchPools(options);
await benchBlocks(options);
await benchReading(options);
await benchOperator(options);
