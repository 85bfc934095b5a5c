import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readManifestFolder, watchManifestFolder } from "./manifest-folder.ts";

let parent: string;
let folder: string;
let stop: AbortController;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "manifests-"));
  folder = join(parent, "examples");
  await mkdir(folder);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await rm(parent, { recursive: true, force: true });
});

const write = (name: string, text = "a: 1\n") => writeFile(join(folder, name), text);
function watching() {
  const changed = vi.fn();
  watchManifestFolder(folder, changed, stop.signal);
  return async () => {
    await vi.waitFor(() => expect(changed).toHaveBeenCalled(), 5000);
    changed.mockClear();
  };
}

test("reads YAML files by name, and nothing else", async () => {
  await Promise.all(
    ["b.yml", "a.yaml", ".a.yaml.swp", ".hidden.yaml", "a.yaml~", "README.md"].map((name) => write(name)),
  );
  expect([...(await readManifestFolder(folder)).keys()]).toEqual(["a.yaml", "b.yml"]);
});

test("a folder that is not there is said so, with the way out", async () => {
  await expect(readManifestFolder(join(folder, "none"))).rejects.toThrow("does not exist: create it, or name another");
  await write("file");
  await expect(readManifestFolder(join(folder, "file"))).rejects.toThrow("is not a folder: correct the path, or name");
});

test("tells of a write, of a save by rename, of a removal, and again after a rename", async () => {
  const told = watching();
  await write("a.yaml");
  await told();
  await write("a.yaml.tmp");
  await rename(join(folder, "a.yaml.tmp"), join(folder, "a.yaml"));
  await told();
  await write("a.yaml", "a: 2\n");
  await told();
  await rm(join(folder, "a.yaml"));
  await told();
});

test("a burst of writes is told once", async () => {
  const changed = vi.fn();
  watchManifestFolder(folder, changed, stop.signal);
  for (let i = 0; i < 20; i++) await write("a.yaml", `a: ${i}\n`);
  await vi.waitFor(() => expect(changed).toHaveBeenCalled());
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(changed.mock.calls.length).toBeLessThan(3);
});

test("a folder removed and made again is watched again", async () => {
  const told = watching();
  await rm(folder, { recursive: true });
  await told();
  await mkdir(folder);
  await told();
  await new Promise((resolve) => setTimeout(resolve, 700));
  await write("a.yaml");
  await told();
});

test("tells nothing after the stop", async () => {
  const changed = vi.fn();
  watchManifestFolder(folder, changed, stop.signal);
  await write("a.yaml");
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(changed).not.toHaveBeenCalled();
});

test("watches nothing when the stop came first: an open watcher would keep the process alive", async () => {
  stop.abort();
  const before = process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;
  watchManifestFolder(folder, () => {}, stop.signal);
  expect(process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap")).toHaveLength(before);
});

test("only what is really gone is left out: what cannot be read says why, and what to do", async () => {
  await symlink("nowhere", join(folder, "broken.yaml"));
  await mkdir(join(folder, "folder.yaml"));
  await writeFile(join(folder, "utf16.yaml"), Buffer.from("\ufeffa: 1\n", "utf16le"));
  await write("large.yaml", "# much\n".repeat(2 ** 19));
  await write("ok.yaml");
  expect(Object.fromEntries(await readManifestFolder(folder))).toEqual({
    "broken.yaml": { unreadable: expect.stringContaining("is a link to a file that is not there") },
    "large.yaml": { unreadable: expect.stringContaining("is larger than 3 MiB") },
    "folder.yaml": { unreadable: expect.stringContaining("is not a file") },
    "utf16.yaml": { unreadable: expect.stringContaining("is not UTF-8") },
    "ok.yaml": "a: 1\n",
  });
});

test("a folder that is too large is read up to its limit; the other files say so, and keep what they brought", async () => {
  const names = Array.from({ length: 25 }, (_, at) => `${String(at).padStart(2, "0")}.yaml`);
  for (const name of names) await writeFile(join(folder, name), "#".repeat(3 * 2 ** 20));
  const files = [...(await readManifestFolder(folder)).values()];
  expect(files.filter((content) => typeof content === "string")).toHaveLength(22);
  expect(files.at(-1)).toEqual({ unreadable: "is not read: the files before it hold 64 MiB, the limit for a folder" });
});
