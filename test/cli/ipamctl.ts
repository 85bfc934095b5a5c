/** Runs `ipamctl` within the test, as a command line would: text in, streams and exit code out. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import type { Io } from "../../src/cli/session.ts";
import { writeBundle } from "../../src/cli/snapshot/bundle.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { storeSnapshot } from "../support/stored-snapshot.ts";
import { NOW } from "./sound.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions extends Partial<Pick<Io, "now" | "signal" | "env" | "take">> {
  /** Looked at as a bundle. */
  readonly snapshot?: Snapshot;
  /** Its IPAM objects are looked at in an embedded store. */
  readonly stored?: Snapshot;
  readonly program?: string;
  /** Columns of the terminal that both streams are. */
  readonly terminal?: number;
}

const signal = new AbortController().signal;
let bundles = 0;

/** A file name that nothing uses, in a folder that is gone after the test that asks for it. */
export function scratchFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "ipamctl-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** `ipamctl("show", "--ip", "10.0.0.1")`: the program never looks at this machine's own cluster. */
export async function ipamctl(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { snapshot, stored, program, terminal, ...io } = options;
  const screen = terminal === undefined ? {} : { isTTY: true, columns: terminal };
  let [stdout, stderr] = ["", ""];
  const place = snapshot ? ["--bundle", await bundleOf(snapshot)] : [];
  if (stored) place.push("--datastore", `embedded:${await storeOf(stored)}`);
  const code = await runProgram(
    [...args, ...place],
    {
      stdout: { write: (text) => (stdout += text), ...screen },
      stderr: { write: (text) => (stderr += text), ...screen },
      env: { HOME: "/nonexistent" },
      now: () => NOW,
      signal,
      ...io,
    },
    program,
  );
  return { code, stdout, stderr };
}

export async function bundleOf(snapshot: Snapshot): Promise<string> {
  const path = scratchFile(`${bundles++}.bundle`);
  await writeBundle(snapshot, path, signal);
  return path;
}

/** The file of an embedded store with the snapshot's IPAM objects. */
export async function storeOf(snapshot: Snapshot): Promise<string> {
  const path = scratchFile(`${bundles++}.db`);
  await storeSnapshot(snapshot, path);
  return path;
}

/** The lines of a table, each cut into its cells. */
export function rows({ stdout }: Ran): string[][] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));
}
