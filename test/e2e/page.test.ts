/** Reading a page's commands. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandsByHeading, installPage, root } from "./page.ts";

it("has the commands under their headings, and nothing that is only shown", () => {
  const page =
    "# A\n\n```sh\none --flag\n```\n\n    shown\n\n```yaml\n# B\n```\n\n```sh\ntwo\n```\n\n### C\n\n```sh\nthree\n```\n";
  expect([...commandsByHeading(page)]).toEqual([
    ["A", ["one --flag", "two"]],
    ["C", ["three"]],
  ]);
});

it("says which headings there are, when one was renamed", () => {
  expect(() => installPage("Setup")).toThrow(/no commands under "Setup"; it has some under: The image, Install, /);
});

it("docs/install.md has one command per fence, so that a test can say which one failed", () => {
  const page = readFileSync(join(root, "docs/install.md"), "utf8");
  for (const command of [...commandsByHeading(page).values()].flat()) expect(command).not.toContain("\n");
});
