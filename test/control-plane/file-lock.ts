/** A lock between processes: a file that names its holder, taken over when that process is gone. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const pollMs = 500;

/** Runs `work` while no other process runs its own under the same lock file. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  if (!(await take(path))) await waitFor(path);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function waitFor(path: string): Promise<void> {
  process.stderr.write(`waiting for the process that holds ${path}\n`);
  while (!(await take(path))) await sleep(pollMs);
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (await abandoned(path)) await rm(path, { force: true });
    return false;
  }
}

async function abandoned(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, "utf8").catch(() => ""));
  // An empty file belongs to a holder that is just writing its number, a missing one to nobody.
  return pid > 0 && !isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
