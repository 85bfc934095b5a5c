/** Text from elsewhere in sentences for people. */
import { inspect } from "node:util";

/**
 * Control and format characters written as what they are: a stored name must not steer a terminal, nor begin a line of a
 * log. A newline at the very end stays: the reference has one there.
 */
export function printable(text: string): string {
  return text.replace(
    /(?!\n$)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}

const LONGEST_SHOWN = 80;
/** Without a value's own way to be shown, which may throw. */
const PLAINLY = { depth: 1, breakLength: Infinity, customInspect: false } as const;

/** A value as it was given, cut where it is long. */
export function shown(value: unknown): string {
  const words = typeof value === "string" ? JSON.stringify(value) : inspect(value, PLAINLY);
  return words.length > LONGEST_SHOWN ? `${words.slice(0, LONGEST_SHOWN)}…` : words;
}
