/** The commands of the pages, and whether the program that each names takes it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { commandsOf } from "../../scripts/docs/pages.ts";
import { wordsOf } from "../../scripts/docs/stage.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { generateFlagsReference } from "../../src/operator/options.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

/** Programs that are no part of this project: their commands are read by nobody here. */
export const ELSEWHERE = [
  "calicoctl",
  "kind",
  "docker",
  "export",
  "cosign",
  "gh",
  "etcdctl",
  "jq",
  "etcdutl",
  "chmod",
  "cd",
  "git",
  "curl",
];

const JUDGES: Readonly<Record<string, (words: readonly string[]) => string | undefined>> = {
  ipamctl: (words) => verbFault(words.slice(1)),
  node: ([, path = ""]) => missing(path),
  npm: npmFault,
  npx: ([, tool = ""]) => (existsSync(join(root, "node_modules/.bin", tool)) ? undefined : `${tool} is not installed`),
  kubectl: kubectlFault,
  helm: helmFault,
};

/** Of fences marked `sh` or `console` every command; of indented blocks those whose program is known. */
export function pageCommands(markdown: string): string[] {
  const fenced: string[] = [];
  const rest = markdown.replace(/^```(\w*).*\n([\s\S]*?)^```$/gm, (_, language: string, text: string) => {
    if (language === "console") fenced.push(...commandsOf(text));
    if (language === "sh") fenced.push(...joined(text).split("\n"));
    return "";
  });
  const indented = joined(rest.replace(/^(?! {4}).*$/gm, "")).split("\n");
  const known = (line: string) => JUDGES[programOf(line)] !== undefined || ELSEWHERE.includes(programOf(line));
  return [...fenced, ...indented.map((line) => line.trim()).filter(known)].flatMap((line) => parts(line));
}

/** In the text: commands of this project's program, as far as they are whole. */
export const inlineCommands = (markdown: string): string[] =>
  [...markdown.matchAll(/`((?:ipamctl|kubectl ipam|npm run) [^`\n]*)`/g)]
    .map(([, command = ""]) => command)
    .filter((command) => !command.includes("…"));

const joined = (text: string) => text.replace(/\\\n\s*/g, " ");
const programOf = (command: string) =>
  command
    .trim()
    .replace(/^(?:[A-Z_]+=\S* )+/, "")
    .split(" ")[0]!;
const parts = (line: string) =>
  line
    .replace(/(^|\s)#.*$/, "")
    .split(/ && | \| /)
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** What is wrong with a command; undefined: nothing that could be seen without running it. */
export function faultOf(command: string): string | undefined {
  const words = wordsOf(command.replace(/^(?:[A-Z_]+=\S* )+/, ""));
  const judge = JUDGES[words[0]!];
  if (judge !== undefined) return judge(words);
  return ELSEWHERE.includes(words[0]!) ? undefined : `${words[0]} is no program that these pages speak of`;
}

function verbFault([name, ...words]: readonly string[]): string | undefined {
  if (name === undefined || name === "help" || name.startsWith("-")) return undefined;
  const verb = VERBS.find((one) => one.name === name);
  if (verb === undefined) return `ipamctl has no verb ${name}`;
  const known = ["-h", "--help", ...verb.flags.flatMap(({ flags }) => flags.split(/[ ,]+/))];
  const unknown = words
    .map((word) => word.split("=")[0]!)
    .filter((word) => /^-+[a-z]/.test(word) && !known.includes(word));
  return unknown.length > 0 ? `ipamctl ${name} has no ${unknown.join(", ")}` : undefined;
}

const OF_NPM = ["ci", "install", "pack", "test", "start", "uninstall", "init", "view"];
const OPERATOR_FLAGS = [...generateFlagsReference().values()].join("\n");

function npmFault([, verb = "", ...words]: readonly string[]): string | undefined {
  const given = words.includes("--") ? words.slice(words.indexOf("--") + 1) : [];
  if (verb === "start") {
    const unknown = given.filter(
      (word) => word.startsWith("--") && !OPERATOR_FLAGS.includes(`\`${word.split("=")[0]}`),
    );
    return unknown.length > 0 ? `the operator has no ${unknown.join(", ")}` : undefined;
  }
  if (verb !== "run") return OF_NPM.includes(verb) ? undefined : `npm ${verb} is not known here`;
  const script = words.find((word) => !word.startsWith("-"));
  if (script === undefined || scripts[script] === undefined) return `package.json has no script ${script}`;
  return script === "ipamctl" ? verbFault(given) : undefined;
}

/** Files of the checkout that it applies. */
function kubectlFault(words: readonly string[]): string | undefined {
  if (words[1] === "ipam") return verbFault(words.slice(2));
  const files = words.flatMap((word, at) => (["-f", "--filename"].includes(words[at - 1] ?? "") ? [word] : []));
  return files.map(missing).find((fault) => fault !== undefined);
}

const missing = (path: string) =>
  /^(-|\/|https?:)/.test(path) || path.includes("<") || existsSync(join(root, path))
    ? undefined
    : `there is no ${path}`;

/** The chart, and the values that it is given. */
function helmFault(words: readonly string[]): string | undefined {
  const chart = words.find((word) => word.startsWith("helm/"));
  if (chart === undefined) return undefined;
  if (!existsSync(join(root, chart, "Chart.yaml"))) return `there is no chart ${chart}`;
  const values = parse(read(join(chart, "values.yaml"))) as object;
  const set = words.flatMap((word, at) => (words[at - 1]?.startsWith("--set") ? [word.split(/[=.[]/)[0]!] : []));
  const unknown = set.filter((key) => !Object.hasOwn(values, key));
  return unknown.length > 0 ? `${chart} has no value ${unknown.join(", ")}` : undefined;
}
