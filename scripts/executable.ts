/**
 * Builds `ipamctl` for people without Node: one file for the platform it is built on, with this Node inside
 * (`node --build-sea`). Run through npm, so that the Node is the project's own.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleForExecutable } from "./build.ts";

const folder = join(import.meta.dirname, "..", "dist", "executable");

/** Where the executable of this platform is built to: `ipamctl-linux-x64`. */
export function executablePath(into = folder): string {
  const suffix = process.platform === "win32" ? ".exe" : "";
  return join(into, `ipamctl-${process.platform}-${process.arch}${suffix}`);
}

/** Builds the executable. @returns its path @throws when Node, or on macOS the signing, fails */
export async function buildExecutable(into = folder): Promise<string> {
  await mkdir(into, { recursive: true });
  const output = executablePath(into);
  const work = await mkdtemp(join(tmpdir(), "ipamctl-executable-"));
  try {
    const main = join(work, "ipamctl.mjs");
    await bundleForExecutable(main);
    const config = join(work, "config.json");
    await writeFile(
      config,
      JSON.stringify({ main, mainFormat: "module", output, disableExperimentalSEAWarning: true }),
    );
    run(process.execPath, "--build-sea", config);
  } finally {
    await rm(work, { recursive: true });
  }
  if (process.platform === "darwin") run("codesign", "--force", "--sign", "-", output); // macOS starts nothing unsigned
  return output;
}

function run(command: string, ...args: string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
}

if (process.argv[1] === import.meta.filename) console.log(await buildExecutable());
