/** How long ipamctl takes to say what it can do, and to plan a thousand nodes. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleIpamctl } from "../scripts/build.ts";
import { type BenchOptions, percentile, timed } from "./measures.ts";

const HELP_TARGET_MS = 80;
const NODES = 1000;

/** Milliseconds of a whole process, as its user waits for it. */
function run(args: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env: { HOME: "/nonexistent" } });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - started;
}

/** Prints what was measured of the program as it is built. */
export async function benchCli(options: BenchOptions): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "ipamctl-bench-"));
  try {
    await bundleIpamctl(dir);
    await measure(join(dir, "ipamctl.mjs"), options);
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** On a busy machine Node alone is not there in time: nothing can be told then. */
function verdictOn(help: number, bare: number): string {
  if (help < HELP_TARGET_MS) return "met";
  return bare > HELP_TARGET_MS / 2 + 10 ? `machine busy: ${(help / bare).toFixed(2)} times Node alone` : "MISSED";
}

async function measure(program: string, { smoke }: BenchOptions): Promise<void> {
  const rounds = Array.from({ length: smoke ? 5 : 30 });
  const bare = percentile(
    rounds.map(() => run(["--eval", ""])),
    0.5,
  );
  const help = percentile(
    rounds.map(() => run([program, "--help"])),
    0.5,
  );
  const nodes = smoke ? 20 : NODES;
  const asked = ["--cidr", "10.0.0.0/14", "--nodes", String(nodes), "--pods-per-node", "110"];
  const planned = await timed(async () => run([program, "plan", ...asked]));
  console.table([
    { "": "a Node process that does nothing", median: `${bare.toFixed(0)} ms` },
    {
      "": "ipamctl --help",
      median: `${help.toFixed(0)} ms`,
      target: `below ${HELP_TARGET_MS} ms`,
      verdict: verdictOn(help, bare),
    },
    { "": `ipamctl plan, ${nodes} nodes of 110 pods`, median: `${(planned / 1000).toFixed(1)} s`, target: "seconds" },
  ]);
}
