/** The workflows of `.github`: they are valid, and what they run exists. */
import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ensureActionlint } from "./actionlint.ts";

const folder = join(import.meta.dirname, "../../.github/workflows");
let actionlint: string;
beforeAll(async () => {
  actionlint = await ensureActionlint();
}, 300_000);

/** The programs that actionlint would call for scripts are not on every machine. */
const lint = (input: string) =>
  spawnSync(actionlint, ["-shellcheck=", "-pyflakes=", "-"], { input, encoding: "utf8", cwd: folder });

const workflows = await readdir(folder);

test("there is one for each change, and one for a release", () => {
  expect(workflows.sort()).toEqual(["ci.yml", "release.yml"]);
});

test.each(workflows)("%s is valid", async (name) => {
  expect(lint(await readFile(join(folder, name), "utf8"))).toMatchObject({ status: 0, stdout: "" });
});

test("a job that needs another one that is not there is found", async () => {
  const text = await readFile(join(folder, "release.yml"), "utf8");
  const { status, stdout } = lint(text.replace("needs: [image]", "needs: [images]"));
  expect(status).toBe(1);
  expect(stdout).toContain("images");
});

test.each(workflows)("the npm scripts that %s runs exist", async (name) => {
  const text = await readFile(join(folder, name), "utf8");
  const scripts = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script);
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(scripts));
});
