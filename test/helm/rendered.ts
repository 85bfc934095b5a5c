/** What the operator's chart renders for some values, and its parts that tests look at most. */
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { type OperatorOptions, parseOptions } from "../../src/operator/options.ts";
import { OPERATOR_CHART, only, type Rendered, render } from "./helm.ts";

const known = new Map<string, Promise<Rendered[]>>();

/** Rendered once for the same values. */
export function rendered(values: OperatorValues = {}): Promise<Rendered[]> {
  const key = JSON.stringify(values);
  const objects = known.get(key) ?? render(OPERATOR_CHART, values);
  known.set(key, objects);
  return objects;
}

export const deploymentOf = async (values?: OperatorValues) => only(await rendered(values), "Deployment");
export const podOf = async (values?: OperatorValues) => (await deploymentOf(values))["spec"].template.spec;
export const containerOf = async (values?: OperatorValues) => (await podOf(values)).containers[0];

/** The flags that the pods get, as the operator itself reads them. */
export async function optionsOf(values?: OperatorValues): Promise<OperatorOptions> {
  const options = parseOptions((await containerOf(values)).args, {});
  if ("print" in options) throw new Error(options.print);
  return options;
}
