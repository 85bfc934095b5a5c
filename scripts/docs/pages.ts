/** The pages' transcripts: in a fence marked `console`, the program's output below each `$ ipamctl …`. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../src/cli/verb.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { exampleCluster, overlappingCluster } from "../../test/support/example-cluster.ts";
import { openStage } from "./stage.ts";

const root = join(import.meta.dirname, "../..");
/** Of a page; wide enough for most tables, and narrow enough for most screens. */
const TERMINAL = { columns: 120 };
const TRANSCRIPT = /^```console(?: (\w+))?\n([\s\S]*?)^```$/gm;

/** A fence's second word chooses the cluster. */
const CLUSTERS: Readonly<Record<string, Snapshot>> = { example: exampleCluster, overlapping: overlappingCluster };

/** The pages that people read, by path from the repository's root; `docs/reference` is generated. */
export const pagePaths = (): string[] => ["README.md", ...globSync("docs/*.md", { cwd: root }).sort()];

export const readPage = (path: string): string => readFileSync(join(root, path), "utf8");

/** The commands of a transcript. */
export const commandsOf = (transcript: string): string[] =>
  transcript.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));

/** The page, with the output of each transcript as the program prints it now. Every transcript begins on a new cluster. */
export async function withOutput(page: string): Promise<string> {
  const parts: string[] = [];
  let end = 0;
  for (const { index, 0: fence, 1: cluster = "example", 2: transcript = "" } of page.matchAll(TRANSCRIPT)) {
    const [opening] = fence.split("\n");
    const output = await played(commandsOf(transcript), CLUSTERS[cluster]!);
    parts.push(page.slice(end, index), `${opening}\n${output}\`\`\``);
    end = index + fence.length;
  }
  return parts.join("") + page.slice(end);
}

async function played(commands: readonly string[], cluster: Snapshot): Promise<string> {
  const stage = await openStage(cluster);
  try {
    const lines: string[] = [];
    for (const command of commands) {
      if (!command.startsWith("ipamctl ")) {
        lines.push(`$ ${command}\n`);
        continue;
      }
      const { code, text } = await stage.run(command, TERMINAL);
      if (code !== EXIT.fine && code !== EXIT.findings) throw new Error(`${command} ends with ${code}: ${text}`);
      lines.push(`$ ${command}\n${text.replace(/[ \t]+$/gm, "")}`);
    }
    return lines.join("\n");
  } finally {
    await stage.close();
  }
}
