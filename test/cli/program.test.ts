/** The command line itself: help, typos, exit codes, and what is loaded for it. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { CODES } from "../../src/judgement/codes.ts";
import { handle } from "../support/ipam-data.ts";
import { ipamctl, rows } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const main = join(import.meta.dirname, "../../src/cli/main.ts");

describe("help", () => {
  it("names every verb, on standard output", async () => {
    const ran = await ipamctl(["--help"]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    for (const { name } of VERBS) expect(ran.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  });

  it.each(VERBS.map((verb) => [verb.name, verb] as const))(
    "of %s has examples, and no hidden flag",
    async (name, verb) => {
      const ran = await ipamctl([name, "--help"]);
      expect(ran).toMatchObject({ code: 0, stderr: "" });
      expect((await ipamctl(["help", name])).stdout).toBe(ran.stdout);
      expect(verb.examples.length).toBeGreaterThan(0);
      for (const { command } of verb.examples) expect(ran.stdout).toContain(`ipamctl ${command}`);
      for (const { flags } of verb.flags.filter(({ hidden }) => hidden)) expect(ran.stdout).not.toContain(flags);
    },
  );

  it("calls the program by the name it was called by", async () => {
    expect((await ipamctl(["show", "--help"], { program: "kubectl ipam" })).stdout).toContain(
      "kubectl ipam show 10.0.0.1",
    );
  });

  it("without a verb goes to standard error, as a usage error", async () => {
    expect(await ipamctl([])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Commands:") });
  });
});

describe("typos", () => {
  it.each([
    [["shwo"], "unknown command 'shwo' (Did you mean show?)", "ipamctl --help"],
    [["show", "--bloks"], "unknown option '--bloks' (Did you mean --blocks?)", "ipamctl show --help"],
    [["explain", "LeakedAdress"], "did you mean LeakedAddress?", "ipamctl explain --help"],
    [["explain", "orphan"], "did you mean OrphanHandle?", "ipamctl explain --help"],
    [["completion", "tcsh"], "Allowed choices are bash, zsh, fish", "ipamctl completion --help"],
  ])("%j names the nearest, and the help of the verb", async (args, message, help) => {
    const ran = await ipamctl(args);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toContain(`See '${help}'`);
  });
});

describe("explain", () => {
  it.each(Object.entries(CODES))("%s", async (code, { title, means, severity }) => {
    const ran = await ipamctl(["explain", code.toLowerCase()]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toContain(`${code} (${severity}): ${title}`);
    expect(ran.stdout).toContain(means);
    expect(JSON.parse((await ipamctl(["explain", code, "-o", "json"])).stdout)).toMatchObject({
      kind: "Code",
      code,
      means,
    });
  });

  it("without a code lists all", async () => {
    const all = rows(await ipamctl(["explain"]));
    expect(all.slice(1).map(([code]) => code)).toEqual(Object.keys(CODES));
  });
});

describe("interrupted", () => {
  it("ends with 130, and says so", async () => {
    const signal = AbortSignal.abort(new Error("interrupted"));
    const ran = await ipamctl(["show"], { snapshot: sound, signal });
    expect(ran).toEqual({ code: 130, stdout: "", stderr: "ipamctl: stopped\n" });
  });

  it("between two looks, too", async () => {
    const stop = new AbortController();
    const stored = { ...sound, handles: [...sound.handles, handle("ghost", { "10.0.0.0/30": 1 })] };
    setTimeout(() => stop.abort(new Error("interrupted")), 300);
    const started = Date.now();
    const ran = await ipamctl(["check", "--second-look", "60"], { stored, signal: stop.signal });
    expect(ran).toMatchObject({ code: 130, stdout: "" });
    expect(Date.now() - started).toBeLessThan(30_000);
  });
});

/** Every module of the project and its dependencies that a command line loads, by path from the project's root. */
function loadedBy(...args: string[]) {
  const hooks = `import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { process.stderr.write("LOADED " + url + "\\n"); return next(url, context); } });`;
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent" };
  const command = ["--import", `data:text/javascript,${encodeURIComponent(hooks)}`, main, ...args];
  const { stderr, status } = spawnSync(process.execPath, command, { encoding: "utf8", env });
  return { status, modules: stderr.split("\n").flatMap((line) => /^LOADED (.*)/.exec(line)?.[1] ?? []) };
}

describe("what is loaded", () => {
  const heavy = /\/src\/(kube|datastore|ipam|api)\/|node_modules\/(?!commander\/)|node:(sqlite|https?|tls|zlib)$/;

  it.each([[["--help"]], [["show", "--help"]], [["why", "--help"]], [["plan", "--help"]], [["shwo"]]])(
    "%j loads no Kubernetes code",
    (args) => {
      const { modules } = loadedBy(...args);
      expect(modules).toContainEqual(expect.stringContaining("commander"));
      expect(modules.filter((url) => heavy.test(url))).toEqual([]);
    },
  );

  it("an offline verb loads no transport and no store", () => {
    const { modules, status } = loadedBy("explain", "LeakedAddress");
    expect(status).toBe(0);
    expect(modules.filter((url) => /undici|client-node|\/src\/kube\/(rest|transport)|node:sqlite/.test(url))).toEqual(
      [],
    );
  });
});
