/** What the documentation shows of the program is what the program prints. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandsOf } from "./docs/pages.ts";
import { documented } from "./docs.ts";
import { staleFiles } from "./generate.ts";

const files = await documented();

it("transcripts, pictures and the example bundle are fresh: otherwise run `npm run docs`", async () => {
  expect(await staleFiles(files, join(import.meta.dirname, ".."))).toEqual([]);
});

it("stale output is found", async () => {
  expect((await staleFiles(new Map([["docs/ipamctl.md", ""]]), join(import.meta.dirname, ".."))).length).toBe(1);
});

it("the pages about ipamctl have output under their commands, and pictures are small", () => {
  for (const page of ["docs/ipamctl.md", "docs/mending.md"]) {
    expect(commandsOf(files.get(page)!).length).toBeGreaterThan(8);
  }
  const pictures = [...files].filter(([path]) => path.endsWith(".svg"));
  expect(pictures.length).toBeGreaterThan(8);
  for (const [path, content] of pictures) expect(content.length, path).toBeLessThan(60_000);
});
