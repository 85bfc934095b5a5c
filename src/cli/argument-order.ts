/** Flags before the verb, as kubectl takes them: `ipamctl --context prod check`. Pure. */
import type { FlagRow, Verb } from "./verb.ts";

/** The command line with its verb first; as it is where no verb follows the flags. */
export function verbFirst(argv: readonly string[], verbs: readonly Verb[]): readonly string[] {
  const flags = verbs.flatMap((verb) => verb.flags);
  let at = 0;
  while (at < argv.length && argv[at]!.startsWith("-")) at += takesNextWord(argv[at]!, flags) ? 2 : 1;
  const verb = argv[at];
  if (at === 0 || !verbs.some(({ name }) => name === verb)) return argv;
  return [verb!, ...argv.slice(0, at), ...argv.slice(at + 1)];
}

/** Whether the value of a flag is a word of its own. */
function takesNextWord(word: string, flags: readonly FlagRow[]): boolean {
  if (word.includes("=")) return false;
  return flags.some((flag) => flag.flags.includes("<") && spellings(flag).includes(word));
}

/** `-o, --output <FORMAT>`: `-o` and `--output`. */
const spellings = ({ flags }: FlagRow): string[] => flags.match(/(?<![\w-])--?[\w-]+/g) ?? [];
