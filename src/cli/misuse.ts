/** Command lines that can be read, and cannot be meant. */
import { UsageError } from "./usage-error.ts";

/**
 * An empty value comes of a variable that is not set, a flag as value of one that was forgotten: with either, something
 * else would be looked at, or changed, than was meant.
 * @throws UsageError
 */
export function checkValues(options: Readonly<Record<string, unknown>>, flagOf: (name: string) => string): void {
  for (const [name, value] of Object.entries(options)) {
    for (const text of [value].flat()) {
      if (text === "") throw new UsageError(`${flagOf(name)} has an empty value: give one, or leave the flag out.`);
      if (typeof text === "string" && text.startsWith("--"))
        throw new UsageError(`${flagOf(name)} has no value: '${text}' stands in its place.`);
    }
  }
}
