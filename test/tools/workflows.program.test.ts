/** The workflows of `.github`: they are valid, and what they run exists. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
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

/** What a person can download of a release, and the command that makes it. */
test.each([
  [
    "the image for both processors, with SBOM and provenance",
    "image",
    /linux\/amd64,linux\/arm64[\s\S]*mode=max[\s\S]*"?sbom"?: true/,
  ],
  [
    "both charts, in an OCI registry",
    "charts",
    /ipam-operator-crds ipam-operator;[\s\S]*helm push "\$package" "\$CHARTS"/,
  ],
  ["the npm package, with provenance", "npm", /npm publish --provenance/],
  ["the executables", "executable", /npm run build:executable[\s\S]*npm run release:archive/],
  [
    "the krew manifest and the bill of materials",
    "github",
    /npm run sbom[\s\S]*npm run release:krew[\s\S]*gh release create/,
  ],
])("a release has %s", async (_name, job, steps) => {
  const { jobs } = parse(await readFile(join(folder, "release.yml"), "utf8"));
  expect(stringify(jobs[job])).toMatch(steps);
});

test("the published chart asks for the published image", async () => {
  const { env, jobs } = parse(await readFile(join(folder, "release.yml"), "utf8"));
  expect(env.IMAGE).toMatch(/^ghcr\.io\/\$\{\{ github\.repository \}\}$/);
  const push = jobs.image.steps.find(({ id }: { id?: string }) => id === "push");
  // The chart's default tag is its appVersion, without the v of the git tag.
  expect(push.with.tags).toMatch(/^\$\{\{ env\.IMAGE \}\}:\$\{\{ steps\.version\.outputs\.version \}\}$/);
  const version = jobs.image.steps.find(({ id }: { id?: string }) => id === "version");
  expect(bash(`${version.run}\ncat "$GITHUB_OUTPUT"`, { GITHUB_REF_NAME: "v1.2.3", GITHUB_OUTPUT: "out" })).toBe(
    "version=1.2.3\n",
  );
  const name = jobs.charts.steps.find(({ name }: { name?: string }) => name === "Name the published image");
  const chart = bash(`${name.run}\ncat helm/ipam-operator/values.yaml helm/ipam-operator/Chart.yaml`, {
    IMAGE: "ghcr.io/a/b",
  });
  expect(chart).toContain("\n  repository: ghcr.io/a/b\n");
  expect(chart).toContain(`\n      image: ghcr.io/a/b:${manifest.version}\n`);
});

/** Runs a step as GitHub does, in a folder with the charts. */
function bash(script: string, env: Record<string, string>): string {
  const cwd = mkdtempSync(join(tmpdir(), "release-"));
  try {
    cpSync(join(import.meta.dirname, "../../helm"), join(cwd, "helm"), { recursive: true });
    const path = { PATH: process.env["PATH"] };
    return execFileSync("bash", ["-euo", "pipefail", "-c", script], {
      cwd,
      env: { ...path, ...env },
      encoding: "utf8",
    });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
