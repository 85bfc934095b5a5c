/**
 * A caller leaves every public method at each of its requests: the call ends with the signal's reason, what holds at every
 * instant holds, and the next ordinary call puts right what was left.
 */
import { describe, expect, it } from "vitest";
import { PARAMETERS } from "../../src/ipam/argument-forms.ts";
import { AbortingProcess, type Leaving } from "./aborting.ts";
import { type Invocation, textOf } from "./calls.ts";
import { SCENARIOS, type Scenario } from "./crash-scenarios.ts";
import { isCountTooHigh, recover, scene } from "./recovery.ts";

/** The call with the signal as its last argument. */
function under(signal: AbortSignal, { method, args }: Invocation): Invocation {
  const places = Array.from({ length: Object.keys(PARAMETERS[method]).length }, (_, at) => args[at]);
  return { method, args: [...places, { signal }] } as unknown as Invocation;
}

/** What is wrong when the caller leaves there. */
async function leave(scenario: Scenario, leaving: Leaving): Promise<string[]> {
  await using cluster = await scene(scenario);
  const process = new AbortingProcess(leaving);
  const invocation = await scenario.call(cluster);
  const { error } = await cluster.run(under(process.signal, invocation), process);
  const where = `${textOf(invocation)} left ${leaving.when} request ${leaving.request}`;
  const ended = error === process.reason ? [] : [`${where}: ended with ${error}`];
  const after = await cluster.findings("always");
  const [how = "again"] = (scenario.recoveredBy ?? ["hosts"]).toReversed();
  await recover(cluster, invocation, how);
  const recovered = (await cluster.findings("atRest")).filter((finding) => !isCountTooHigh(finding));
  const words = [...after, ...recovered, ...cluster.historyFindings()].map(
    ({ invariant, object, message }) => `${where}: ${invariant} ${object}: ${message}`,
  );
  return [...ended, ...words];
}

const timeout = 240_000; // each is some dozens of calls and recoveries

describe.each(Object.entries(SCENARIOS))("%s, left at each request", { timeout }, (_method, scenarios) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))("%s", async (_name, scenario) => {
    await using clean = await scene(scenario);
    const process = new AbortingProcess();
    const { error } = await clean.run(under(process.signal, await scenario.call(clean)), process);
    expect(error).toBeUndefined();
    expect(process.requests).toBeGreaterThan(0);
    for (let request = 0; request < process.requests; request++) {
      for (const when of ["before", "after"] as const) expect(await leave(scenario, { request, when })).toEqual([]);
    }
  });
});
