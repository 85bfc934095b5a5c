/** The example of docs/library.md, run as it stands there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";

const root = join(import.meta.dirname, "..");
const dir = mkdtempSync(join(root, "node_modules/.docs-example-"));
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

it("assigns an address with its block's prefix and gives it back", async () => {
  const page = readFileSync(join(root, "docs/library.md"), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const file = join(dir, "example.mjs");
  writeFileSync(file, example.replace('"ipam-operator"', JSON.stringify(join(root, "src/index.ts"))));
  const printed = vi.spyOn(console, "log").mockImplementation(() => {});
  await import(/* @vite-ignore */ file);
  expect(printed.mock.calls).toEqual([[[expect.stringMatching(/^10\.0\.0\.\d+\/28$/)]], [256n]]);
});
