/** Packs the executable of this platform for download: `dist/release/ipamctl-linux-x64.tar.gz`, with the licence. */
import { spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executablePath } from "../executable.ts";

const root = join(import.meta.dirname, "../..");
/** What a release offers for download. */
export const releaseFolder = join(root, "dist", "release");

/** @returns the archive's path @throws when the executable has not been built, or tar fails */
export async function archive(executable = executablePath(), into = releaseFolder): Promise<string> {
  await mkdir(into, { recursive: true });
  const packed = join(into, `ipamctl-${process.platform}-${process.arch}.tar.gz`);
  const work = await mkdtemp(join(tmpdir(), "ipamctl-archive-"));
  try {
    await copyFile(executable, join(work, "ipamctl"));
    await copyFile(join(root, "LICENSE"), join(work, "LICENSE"));
    const { status, stderr } = spawnSync("tar", ["-czf", packed, "-C", work, "ipamctl", "LICENSE"], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`tar failed: ${stderr}`);
  } finally {
    await rm(work, { recursive: true });
  }
  return packed;
}

if (process.argv[1] === import.meta.filename) console.log(await archive());
