/** What the operator's chart renders for some values, and its parts that tests look at most. */
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { type OperatorOptions, parseOptions } from "../../src/operator/options.ts";
import { OPERATOR_CHART, objectsIn, only, type Rendered, renderText } from "./helm.ts";

const known = new Map<string, Promise<string>>();

/** Rendered once for the same values: the text. */
export function renderedText(values: OperatorValues = {}): Promise<string> {
  const key = JSON.stringify(values);
  const text = known.get(key) ?? renderText(OPERATOR_CHART, values);
  known.set(key, text);
  return text;
}

/** The objects of that text. */
export const rendered = async (values?: OperatorValues): Promise<Rendered[]> => objectsIn(await renderedText(values));

export const deploymentOf = async (values?: OperatorValues) => only(await rendered(values), "Deployment");
export const podOf = async (values?: OperatorValues) => (await deploymentOf(values))["spec"].template.spec;
export const containerOf = async (values?: OperatorValues) => (await podOf(values)).containers[0];

/** The flags that the pods get, as the operator itself reads them. */
export async function optionsOf(values?: OperatorValues): Promise<OperatorOptions> {
  const options = parseOptions((await containerOf(values)).args, {});
  if ("print" in options) throw new Error(options.print);
  return options;
}
