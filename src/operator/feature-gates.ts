/** What can be switched on before it is on for everybody, or off while it can still be: the gates, and reading them. */

/** An alpha gate is off, a beta gate on, unless `--feature-gates` says otherwise. */
export interface FeatureGate {
  readonly name: string;
  readonly stage: "alpha" | "beta";
}

/** The gates of this version. */
export const FEATURE_GATES: readonly FeatureGate[] = [];

/** Each known gate, and whether it is on. */
export type FeatureGates = Readonly<Record<string, boolean>>;

/** Reads `Name=true,Other=false`. @throws Error with what would be right */
export function parseFeatureGates(text: string, gates = FEATURE_GATES): FeatureGates {
  const chosen = text.split(",").map((part) => parseOne(part.trim(), gates));
  return Object.fromEntries([...gates.map(({ name, stage }) => [name, stage === "beta"] as const), ...chosen]);
}

function parseOne(part: string, gates: readonly FeatureGate[]): readonly [string, boolean] {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/.exec(part) ?? [];
  if (value !== "true" && value !== "false") throw new Error(`Give Name=true or Name=false, not '${part}'.`);
  if (gates.some((gate) => gate.name === name)) return [name, value === "true"];
  throw new Error(`There is no gate '${name}'; ${gatesText(gates)}.`);
}

/** Which gates there are, as the end of a sentence. */
export function gatesText(gates = FEATURE_GATES): string {
  if (gates.length === 0) return "this version has none";
  return `this version has ${gates.map(({ name, stage }) => `${name} (${stage})`).join(", ")}`;
}
