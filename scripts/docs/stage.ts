/** Where the documentation's commands are run: the example cluster, in a store of its own, at a fixed time. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../src/cli/program.ts";
import { CLEAR_LINE } from "../../src/cli/progress.ts";
import { copyName } from "../../src/cli/repair/run.ts";
import type { Io } from "../../src/cli/session.ts";
import { takeSnapshot } from "../../src/cli/snapshot/take.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { EXAMPLE_NOW } from "../../test/support/example-cluster.ts";
import { storeSnapshot } from "../../test/support/stored-snapshot.ts";

export interface Ran {
  readonly code: number;
  /** What a person sees: both streams, in the order of writing. */
  readonly text: string;
}

export interface Stage {
  /** Runs `ipamctl …`; questions are answered with yes. */
  run(command: string, terminal?: Terminal): Promise<Ran>;
  close(): Promise<void>;
}

/** A terminal to run on; without one, output is what a pipe gets. */
export interface Terminal {
  readonly columns: number;
  readonly colour?: boolean;
}

/** What only a cluster has. */
const AROUND = ["nodes", "namespaces", "pods", "services", "clusterInformation", "controllers", "events"] as const;
const FILE = /^[^-/].*\.(gz|json|jsonl|bundle)$/;
const never = new AbortController().signal;

export async function openStage(cluster: Snapshot): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "docs-"));
  const path = join(folder, "store.db");
  await storeSnapshot(cluster, path);
  const around = Object.fromEntries(AROUND.map((part) => [part, cluster[part]]));
  const take: typeof takeSnapshot = async (place, options) => {
    const taken = await takeSnapshot(place, options);
    return place.kind === "embedded" ? { ...taken, ...around, datastore: cluster.datastore } : taken;
  };
  return {
    run: async (command, terminal) => {
      const args = argumentsOf(wordsOf(command).slice(1), folder, path);
      const { code, text } = await runOn(args, { take, env: { HOME: folder } }, terminal);
      return { code, text: withoutPlace(text, folder, path) };
    },
    close: () => rm(folder, { recursive: true }),
  };
}

async function runOn(args: readonly string[], io: Pick<Io, "take" | "env">, terminal?: Terminal): Promise<Ran> {
  let text = "";
  const write = (part: string) => (text += part);
  const sink = terminal ? { write, isTTY: true, columns: terminal.columns } : { write };
  const env = { ...io.env, ...(terminal?.colour ? { TERM: "xterm-256color" } : { NO_COLOR: "1" }) };
  const ask = async (question: string) => {
    text += `${question}y\n`;
    return "y";
  };
  const streams = { stdout: sink, stderr: sink };
  const code = await runProgram(args, { ...io, ...streams, env, now: () => EXAMPLE_NOW, signal: never, ask });
  return { code, text: withoutProgress(text) };
}

/** What a slow machine shows for a while. */
function withoutProgress(text: string): string {
  const [first = "", ...rest] = text.split(CLEAR_LINE);
  return first + rest.filter((part) => !part.endsWith(" ...")).join("");
}

/** Words as a shell cuts them. */
export const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, one, two, bare]) => one ?? two ?? bare!);

/** The command's own words, and what a reader need not type: the place, and no waiting between two looks. */
function argumentsOf(words: readonly string[], folder: string, path: string): string[] {
  const [verb = ""] = words;
  const files = words.map((word) => (FILE.test(word) ? join(folder, word) : word));
  const has = (flag: string) =>
    VERBS.find(({ name }) => name === verb)?.flags.some(({ flags }) => flags.includes(flag));
  const add = (flag: string, value: string) => (has(flag) && !words.includes(flag) ? [flag, value] : []);
  const isElsewhere = words.includes("--bundle") || words.includes("--cidr") || words.includes("--help");
  return [
    ...files,
    ...(isElsewhere ? [] : add("--datastore", `embedded:${path}`)),
    ...(words.includes("--dry-run") ? [] : add("--grace", "0")),
    ...add("--second-look", "0.001"),
    ...(words.includes("--restore") || words.includes("--dry-run")
      ? []
      : add("--copy", join(folder, copyName(words[1] ?? "", EXAMPLE_NOW)))),
  ];
}

/** Output as it is where the cluster is that of the kubeconfig, and the looks are as far apart as they are by default. */
function withoutPlace(text: string, folder: string, path: string): string {
  return text
    .replaceAll(` --datastore embedded:${path}`, "")
    .replaceAll(`${folder}/`, "")
    .replaceAll("again in 0 s", "again in 60 s")
    .replaceAll("again in 0.001 s", "again in 2 s");
}
