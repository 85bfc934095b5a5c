/**
 * Every public method dies, or loses an answer, at each of its writes. What holds at every instant then holds, and one
 * ordinary call later what holds at rest does too; only a handle's count may stay too high until it is collected.
 */
import { describe, expect, it } from "vitest";
import type { Finding } from "../invariants/check.ts";
import { type Method, textOf } from "./calls.ts";
import { isForCallers } from "./cluster.ts";
import { SCENARIOS, type Scenario } from "./crash-scenarios.ts";
import { type Fault, FaultyProcess, faultText } from "./faulty.ts";
import { isCountTooHigh, type Recovery, recover, scene } from "./recovery.ts";

const READERS: readonly Method[] = ["ipsByHandle", "getAssignmentAttributes", "getUtilization", "getIPAMConfig"];

/** A death before a write and one after the write before it leave the same behind: calling again is tried after writes. */
const FAULTS = [
  { when: "before", dies: true, recoveries: ["hosts"] },
  { when: "after", dies: true, recoveries: ["hosts", "again"] },
  { when: "before", dies: false, recoveries: ["hosts"] },
  { when: "after", dies: false, recoveries: ["hosts", "again"] },
] as const;

function* crashesOf({ recoveredBy = ["again", "hosts"] }: Scenario, writes: number): Generator<[Fault, Recovery]> {
  for (const { recoveries, ...kind } of FAULTS) {
    const fitting = recoveries.filter((recovery) => recoveredBy.includes(recovery));
    for (const how of fitting) for (let write = 0; write < writes; write++) yield [{ ...kind, write }, how];
  }
}

/** One crash and its recovery; undefined where the call has no such write, otherwise what is wrong afterwards. */
async function crash(scenario: Scenario, fault: Fault, how: Recovery): Promise<string[] | undefined> {
  await using cluster = await scene(scenario);
  const process = new FaultyProcess(fault);
  const invocation = await scenario.call(cluster);
  const { error } = await cluster.run(invocation, process);
  if (!process.met) return undefined;
  const after = await cluster.findings("always");
  await recover(cluster, invocation, how);
  const recovered = (await cluster.findings("atRest")).filter((finding) => !isCountTooHigh(finding));
  const words = (where: string, findings: readonly Finding[]) =>
    findings.map(
      ({ invariant, object, message }) =>
        `${textOf(invocation)} ${faultText(fault)}; ${where} (${how}): ${invariant} ${object}: ${message}`,
    );
  return [
    ...(isForCallers(error, invocation) ? [] : [`${textOf(invocation)} ${faultText(fault)}: ended with ${error}`]),
    ...words("then", after),
    ...words("recovered", recovered),
    ...words("history", cluster.historyFindings()),
  ];
}

const timeout = 240_000; // each is some dozens of calls and recoveries

describe.each(Object.entries(SCENARIOS))("%s, cut off at each write", { timeout }, (method, scenarios) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))("%s", async (_name, scenario) => {
    await using clean = await scene(scenario);
    const process = new FaultyProcess();
    const { error } = await clean.run(await scenario.call(clean), process);
    expect(error).toBeUndefined();
    expect(await clean.findings("atRest")).toEqual([]);
    expect(process.writes > 0).toBe(!READERS.includes(method as Method));

    for (const [fault, how] of crashesOf(scenario, process.writes)) {
      expect(await crash(scenario, fault, how)).toEqual([]);
    }
  });
});
