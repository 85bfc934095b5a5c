/** Flags before the verb, as kubectl takes them: `ipamctl --context prod check`. Pure. */
import type { FlagRow, Verb } from "./verb.ts";

/** The command line with its verb first; as it is where no verb follows the flags. */
export function verbFirst(argv: readonly string[], verbs: readonly Verb[]): readonly string[] {
  const at = argv.findIndex((word, index) => {
    const verb = verbs.find(({ name }) => name === word);
    return verb !== undefined && areFlags(argv.slice(0, index), verb.flags);
  });
  return at <= 0 ? argv : [argv[at]!, ...argv.slice(0, at), ...argv.slice(at + 1)];
}

/** Whether words are flags of one verb, each with its value: only then is the word behind them the verb. */
function areFlags(words: readonly string[], flags: readonly FlagRow[]): boolean {
  let at = 0;
  while (at < words.length && words[at]!.startsWith("-")) at += takesNextWord(words[at]!, flags) ? 2 : 1;
  return at === words.length;
}

/** Whether the value of a flag is a word of its own. */
function takesNextWord(word: string, flags: readonly FlagRow[]): boolean {
  return flags.some((flag) => flag.flags.includes("<") && spellings(flag).includes(word));
}

/** `-o, --output <FORMAT>`: `-o` and `--output`. */
const spellings = ({ flags }: FlagRow): string[] => flags.match(/(?<![\w-])--?[\w-]+/g) ?? [];
