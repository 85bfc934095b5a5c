/** Programs are built once, and again when what they are built from has changed. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cacheFolder, ensureGoPrograms } from "./go-build.ts";

const run = promisify(execFile);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "go-build-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function sayer(text: string) {
  const module = join(folder, "sayer");
  mkdirSync(module, { recursive: true });
  writeFileSync(join(module, "go.mod"), "module sayer\n\ngo 1.26.0\n");
  writeFileSync(join(module, "main.go"), `package main\n\nfunc main() { println("${text}") }\n`);
  return { name: "sayer", programs: [{ name: "say", module, package: "." }], takes: "a moment", instead: "wait" };
}

const env = () => ({ ...process.env, IPAM_OPERATOR_CACHE: join(folder, "cache") });
const said = async (built: string) => (await run(join(built, "say"))).stderr.trim();

it("builds once for all that ask, and anew when a source has changed", { timeout: 120_000 }, async () => {
  const [first, second] = await Promise.all([1, 2].map(() => ensureGoPrograms(sayer("one"), env())));
  expect(second).toBe(first);
  expect(await said(first!)).toBe("one");

  const changed = await ensureGoPrograms(sayer("two"), env());
  expect(await said(changed)).toBe("two");
  expect(await ensureGoPrograms(sayer("one"), env())).toBe(first);
});

it("removes what a build that was killed has left", { timeout: 120_000 }, async () => {
  const built = await ensureGoPrograms(sayer("one"), env());
  renameSync(built, `${built}.partial-killed`);
  expect(await ensureGoPrograms(sayer("one"), env())).toBe(built);
  expect(existsSync(`${built}.partial-killed`)).toBe(false);
});

it("leaves nothing behind of a build that fails, and says why it failed", { timeout: 120_000 }, async () => {
  const failing = ensureGoPrograms(sayer('") + nonsense("'), env());
  await expect(failing).rejects.toThrow("undefined: nonsense");
  const left = await run("ls", [join(folder, "cache", "sayer")]);
  expect(left.stdout).toBe("");
});

it("keeps its cache where it is told, or where the user keeps caches", () => {
  expect(cacheFolder({ IPAM_OPERATOR_CACHE: "/a", XDG_CACHE_HOME: "/b" })).toBe("/a");
  expect(cacheFolder({ XDG_CACHE_HOME: "/b" })).toBe("/b/ipam-operator");
  expect(cacheFolder({})).toMatch(/\/\.cache\/ipam-operator$/);
  expect(existsSync(cacheFolder({ XDG_CACHE_HOME: folder }))).toBe(false);
});
