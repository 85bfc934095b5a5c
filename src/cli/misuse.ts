/** Command lines that can be read, and cannot be meant. */
import { UsageError } from "./usage-error.ts";

/** The words before the verb, as kubectl takes them and this program does not. @throws UsageError */
export function checkVerbFirst(argv: readonly string[], verbs: readonly string[], program: string): void {
  const [first = ""] = argv;
  if (!first.startsWith("-") || ["-h", "--help"].includes(first)) return;
  if (["--version", "-v", "-V"].includes(first)) throw new UsageError(`versions are told by: ${program} version`);
  const verb = argv.find((word) => verbs.includes(word));
  if (verb === undefined) return;
  throw new UsageError(`the verb stands first: ${program} ${verb} ${argv.filter((word) => word !== verb).join(" ")}`);
}

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
