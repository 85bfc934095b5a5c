/** Prints a completion script: words that the table of verbs knows, and nothing that asks a cluster. */
import { CODES } from "../../judgement/codes.ts";
import type { Session } from "../session.ts";
import type { Given, Verb } from "../verb.ts";
import type { SHELLS } from "../verbs/completion.ts";
import { VERBS } from "../verbs.ts";
import { bashScript, fishScript, zshScript } from "./scripts.ts";

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], typeof bashScript>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export async function run({ stdout }: Session, { arguments: [shell] }: Given): Promise<undefined> {
  stdout.write(SCRIPTS[shell as keyof typeof SCRIPTS](VERBS.map(withCodes)));
}

/** `explain` takes any code of the registry, which is too large to be loaded with the table of verbs. */
function withCodes(verb: Verb): Verb {
  if (verb.name !== "explain") return verb;
  const [code] = verb.arguments!;
  return { ...verb, arguments: [{ ...code!, choices: Object.keys(CODES) }] };
}
