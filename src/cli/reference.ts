/** The reference page of the verbs, from their table. */
import type { FlagRow, Verb } from "./verb.ts";
import { OUTPUT_FLAGS, READ_FLAGS } from "./verb.ts";
import { VERBS } from "./verbs.ts";

/** The page by its path. */
export function generateVerbsReference(): Map<string, string> {
  const shared = [...READ_FLAGS, ...OUTPUT_FLAGS];
  const page = [
    "# Verbs of `ipamctl`",
    "",
    "Generated from `src/cli/verbs/`; change it there. Also to be called as `kubectl ipam`. Exit codes: 0 fine, 1 error,",
    "2 usage, 3 findings, 130 interrupted. Data goes to standard output, talk to standard error.",
    "",
    "## Flags of several verbs",
    "",
    ...flagTable(shared),
    ...VERBS.flatMap((verb) => section(verb, shared)),
    "",
  ];
  return new Map([["docs/reference/ipamctl.md", page.join("\n")]]);
}

function section(verb: Verb, shared: readonly FlagRow[]): string[] {
  const { name, summary, description, flags, examples } = verb;
  const own = flags.filter((flag) => !flag.hidden && !shared.includes(flag));
  const common = flags.some((flag) => shared.includes(flag));
  const values = (verb.arguments ?? []).map((argument) => ` ${argument.name}`).join("");
  return [
    "",
    `## ipamctl ${name}${values}`,
    "",
    summary,
    ...(description ? ["", description] : []),
    ...(verb.arguments ?? []).flatMap((argument) => ["", `\`${argument.name}\`: ${argument.help}`]),
    ...(own.length > 0 ? ["", ...flagTable(own)] : []),
    ...(common ? ["", "Takes flags of several verbs too."] : []),
    "",
    ...examples.flatMap(({ command, does }) => [`    # ${does}`, `    ipamctl ${command}`]),
  ];
}

function flagTable(flags: readonly FlagRow[]): string[] {
  const rows = flags.map(({ flags: text, help, default: standard = "–", choices }) => {
    const values = choices ? ` ${choices.join(", ")}.` : "";
    return `| \`${text}\` | ${standard} | ${help}${values} |`;
  });
  return ["| flag | default | meaning |", "|---|---|---|", ...rows];
}
