/** Completion scripts for shells, from the table of verbs. Pure. */
import type { FlagRow, Verb } from "../verb.ts";

/** Long name of a flag: `--ip`. */
const longName = ({ flags }: FlagRow) => /--[\w-]+/.exec(flags)![0];
const shownFlags = ({ flags }: Verb) => flags.filter(({ hidden }) => !hidden);
const wordsOf = (verb: Verb) => [
  ...(verb.arguments ?? []).flatMap(({ choices = [] }) => choices),
  ...shownFlags(verb).map(longName),
  "--help",
];

/** After a flag with a fixed set of values: those. */
function choicesByFlag(verbs: readonly Verb[]): [flags: string[], choices: readonly string[]][] {
  const rows = verbs.flatMap(shownFlags).filter(({ choices }) => choices !== undefined);
  const unique = new Map(rows.map((row) => [row.flags, row]));
  return [...unique.values()].map(({ flags, choices = [] }) => [flags.match(/--?[\w-]+/g)!, choices]);
}

export function bashScript(verbs: readonly Verb[]): string {
  const values = choicesByFlag(verbs).map(
    ([flags, choices]) =>
      `    ${flags.join("|")}) COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$word")); return ;;`,
  );
  const words = verbs.map((verb) => `    ${verb.name}) words="${wordsOf(verb).join(" ")}" ;;`);
  return `# bash completion of ipamctl
_ipamctl() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words
  case "$before" in
${values.join("\n")}
    --kubeconfig|--bundle) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${words.join("\n")}
    *) words="${verbs.map(({ name }) => name).join(" ")} help --help" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${verbs.map(({ name }) => name).join(" ")} help --help"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _ipamctl ipamctl kubectl-ipam
`;
}

export function zshScript(verbs: readonly Verb[]): string {
  return `#compdef ipamctl kubectl-ipam
# zsh completion of ipamctl, by the one of bash
autoload -U +X bashcompinit && bashcompinit
${bashScript(verbs)}`;
}

export function fishScript(verbs: readonly Verb[]): string {
  const top = verbs.map(
    ({ name, summary }) => `complete -c ipamctl -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
  );
  const flags = verbs.flatMap((verb) => shownFlags(verb).map((flag) => fishFlag(verb, flag)));
  const values = verbs.flatMap((verb) =>
    (verb.arguments ?? []).flatMap(({ choices = [] }) =>
      choices.length > 0 ? `complete -c ipamctl -f ${after(verb)} -a ${quoted(choices.join(" "))}` : [],
    ),
  );
  return `# fish completion of ipamctl\n${[...top, ...flags, ...values].join("\n")}\n`;
}

function fishFlag(verb: Verb, flag: FlagRow): string {
  const short = /(?<![\w-])-(\w)\b/.exec(flag.flags)?.[1];
  const takesValue = flag.flags.includes("<");
  const parts = [
    `complete -c ipamctl ${after(verb)} -l ${longName(flag).slice(2)}`,
    ...(short ? [`-s ${short}`] : []),
    ...(takesValue ? ["-r"] : ["-f"]),
    ...(flag.choices ? [`-f -a ${quoted(flag.choices.join(" "))}`] : []),
    `-d ${quoted(flag.help)}`,
  ];
  return parts.join(" ");
}

const after = ({ name }: Verb) => `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
const quoted = (text: string) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
