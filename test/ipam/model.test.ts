/**
 * Random histories of several hosts, pools, handles and clocks, with calls side by side, deaths and lost answers. What
 * holds at every instant holds after each step, and once all is quiet what holds at rest does. `IPAM_OPERATOR_MODEL_RUNS`
 * sets how many histories; a failing one shrinks, and is printed as its calls.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Finding } from "../invariants/check.ts";
import { call, type Invocation, textOf } from "./calls.ts";
import { Cluster, isForCallers } from "./cluster.ts";
import { FaultyProcess, faultText } from "./faulty.ts";
import { type Actor, handles, history, hosts, populate, type Step } from "./histories.ts";
import { Turns } from "./turns.ts";

const RUNS = Number(process.env["IPAM_OPERATOR_MODEL_RUNS"] ?? 200);
const MS_PER_RUN = 2_000;

/** What happened, and the first thing that was wrong with it. */
class Run {
  readonly #cluster: Cluster;
  readonly #lines: string[] = [];
  /** Invariants that this history is not asked: each for the reason given where it is added. */
  readonly #excused = new Set<number>();
  /** Handles that calls which were cut off may have left counted too high, until they are collected. */
  readonly #overcounted = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async take(step: Step): Promise<void> {
    if ("pass" in step) {
      this.#lines.push(`${step.pass} s pass`);
      this.#cluster.pass(step.pass);
    } else if ("node" in step) {
      this.#lines.push(`${step.node} moves to zone ${step.zone}`);
      this.#cluster.nodes.set(step.node, { zone: step.zone });
    } else await this.#calls(step);
    await this.#sound("always");
  }

  async #calls({ actors, order }: Extract<Step, { actors: unknown }>): Promise<void> {
    const turns = actors.length > 1 ? new Turns(order) : undefined;
    const blocks = await this.#cluster.all("IPAMBlock");
    await Promise.all(actors.map((actor) => this.#call(actor, blocks, turns)));
  }

  async #call({ making, ahead, fault }: Actor, blocks: Parameters<Actor["making"]>[0], turns?: Turns): Promise<void> {
    const invocation = making(blocks);
    if (!invocation) return;
    // By a clock behind, a block may be made again below what it was, and an address leave a cooldown of 0 s before it began.
    if (ahead > 0) this.#excused.add(8).add(12);
    const words = [textOf(invocation), ahead > 0 && `clock ahead ${ahead} s`, fault && faultText(fault)];
    const line = this.#lines.push(`${turns ? "  at once: " : ""}${words.filter(Boolean).join(", ")}`) - 1;
    const process = new FaultyProcess(fault, turns?.take);
    const { error } = await this.#cluster.run(invocation, process, ahead);
    if (error) this.#lines[line] += ` -> ${(error as Error).name} ${(error as { code?: string }).code ?? ""}`;
    if (process.met) for (const handleID of countedBy(invocation)) this.#overcounted.add(`IPAMHandle ${handleID}`);
    if (!isForCallers(error, invocation)) this.#fail([`a caller was told: ${error}`]);
  }

  /** Every host makes one more call, and releases what it got; then all is as it should be. */
  async rest(): Promise<void> {
    for (const hostname of hosts) {
      const quiet = { hostname, handleID: `last-${hostname}`, num4: 1, num6: 1, intendedUse: "Workload" } as const;
      await this.#cluster.run(call("autoAssign", quiet));
      await this.#cluster.run(call("releaseByHandle", quiet.handleID));
    }
    await this.#sound("atRest");
    const findings = this.#cluster.historyFindings().filter(({ invariant }) => !this.#excused.has(invariant));
    if (findings.length > 0) this.#fail(findings.map(textOfFinding));
  }

  async #sound(mode: "always" | "atRest"): Promise<void> {
    const findings = await this.#cluster.findings(mode);
    const isTooHigh = ({ invariant, object }: Finding) =>
      (invariant === 30 || invariant === 32) && this.#overcounted.has(object);
    const wrong = findings.filter((finding) => !isTooHigh(finding));
    if (wrong.length > 0) this.#fail(wrong.map(textOfFinding));
  }

  #fail(wrong: readonly string[]): never {
    throw new Error(`after\n  ${this.#lines.join("\n  ")}\nthere is\n  ${wrong.join("\n  ")}`);
  }
}

/** Handles whose counts a call changes. */
function countedBy({ method, args }: Invocation): readonly (string | undefined)[] {
  if (method === "autoAssign" || method === "assignIP") return [args[0].handleID];
  if (method === "releaseByHandle") return [args[0]];
  return method === "releaseIPs" ? handles : [];
}

const textOfFinding = ({ invariant, object, message }: Finding) => `invariant ${invariant}, ${object}: ${message}`;

async function live(steps: readonly Step[]): Promise<void> {
  await using cluster = new Cluster();
  await populate(cluster);
  const run = new Run(cluster);
  for (const step of steps) await run.take(step);
  await run.rest();
}

it(`keeps the invariants in ${RUNS} histories`, { timeout: 60_000 + RUNS * MS_PER_RUN }, async () => {
  expect(RUNS).toBeGreaterThan(0);
  const { failed, errorInstance, seed, counterexamplePath } = await fc.check(fc.asyncProperty(history, live), {
    numRuns: RUNS,
  });
  const why = failed ? `${(errorInstance as Error).message}\n(seed ${seed}, path ${counterexamplePath})` : "";
  expect(why).toBe("");
});
