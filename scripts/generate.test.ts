import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { generateAll, staleFiles } from "./generate.ts";

const folders: string[] = [];
afterEach(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true }))));

it("names exactly the files that are missing or differ", async () => {
  const folder = await mkdtemp(join(tmpdir(), "generate-"));
  folders.push(folder);
  const files = generateAll();
  const [edited, missing] = [...files.keys()];
  for (const [path, content] of files) {
    if (path === missing) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), path === edited ? `${content}# by hand\n` : content);
  }
  expect(await staleFiles(files, folder)).toEqual([edited, missing]);
});
