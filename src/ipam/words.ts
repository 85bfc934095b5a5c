/** Text from elsewhere in sentences for people. */
import { inspect } from "node:util";

const LONGEST_SHOWN = 80;
/** Without a value's own way to be shown, which may throw. */
const PLAINLY = { depth: 1, breakLength: Infinity, customInspect: false } as const;

/** A value as it was given, cut where it is long. */
export function shown(value: unknown): string {
  const words = typeof value === "string" ? JSON.stringify(value) : inspect(value, PLAINLY);
  return words.length > LONGEST_SHOWN ? `${words.slice(0, LONGEST_SHOWN)}…` : words;
}
