/** A scenario from its beginning to what ordinary calls make of what it left behind. */
import type { Finding } from "../invariants/check.ts";
import { call, type Invocation } from "./calls.ts";
import { Cluster } from "./cluster.ts";
import type { Scenario } from "./crash-scenarios.ts";
import { prepareCluster } from "./crash-setup.ts";

export type Recovery = NonNullable<Scenario["recoveredBy"]>[number];

/** A cluster as a scenario begins. */
export async function scene(scenario: Scenario): Promise<Cluster> {
  const cluster = new Cluster();
  await prepareCluster(cluster);
  await scenario.before?.(cluster);
  return cluster;
}

/** Counts that are too high, which a collection of handles puts right. */
export const isCountTooHigh = ({ invariant, object }: Finding) =>
  (invariant === 30 || invariant === 32) && object.startsWith("IPAMHandle");

/** The next ordinary calls. */
export async function recover(cluster: Cluster, invocation: Invocation, how: Recovery): Promise<void> {
  if (how === "again") return void (await cluster.run(invocation));
  for (const hostname of cluster.nodes.keys()) {
    await cluster.run(call("autoAssign", { hostname, num4: 1, num6: 1, intendedUse: "Workload" }));
  }
}
