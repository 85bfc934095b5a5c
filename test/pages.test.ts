/**
 * Every command of every page: those in transcripts were run (scripts/docs.test.ts), README's and install.md's are run on
 * clusters; here each is held against the program that it names. Links lead to files and headings that there are.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { pagePaths } from "../scripts/docs/pages.ts";
import { faultOf, inlineCommands, pageCommands } from "./support/page-commands.ts";

const root = join(import.meta.dirname, "..");
const paths = [...pagePaths(), "CONTRIBUTING.md", "SECURITY.md"];
const pages = paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

describe.each(pages)("$path", ({ path, text }) => {
  it("has only commands that its programs take", () => {
    const faults = [...pageCommands(text), ...inlineCommands(text)].map((command) => [command, faultOf(command)]);
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([]);
  });

  it("says of each fence what is in it", () => {
    const languages = [...text.matchAll(/^```(.*)\n[\s\S]*?^```$/gm)].map(
      ([, language = ""]) => language.split(" ")[0]!,
    );
    const known = ["console", "sh", "ts", "yaml", "lua", "text", "json"];
    expect(languages.filter((language) => !known.includes(language))).toEqual([]);
  });

  it("links to what there is", () => {
    const links = [...text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, link = ""]) => link,
    );
    const local = links.filter((link) => !/^[a-z]+:/.test(link));
    const broken = local.filter((link) => {
      const [file = "", heading] = link.split("#");
      const target = file === "" ? join(root, path) : join(root, dirname(path), file);
      return (
        !existsSync(target) || (heading !== undefined && !anchorsOf(readFileSync(target, "utf8")).includes(heading))
      );
    });
    expect(broken).toEqual([]);
  });
});

/** As GitHub makes them of headings. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, "")
      .replaceAll(" ", "-"),
  );

it("there are commands to look at", () => {
  expect(pages.flatMap(({ text }) => pageCommands(text)).length).toBeGreaterThan(60);
});

it.each([
  ["ipamctl shwo", "no verb shwo"],
  ["ipamctl show --nod worker-1", "has no --nod"],
  ["kubectl ipam check --what", "has no --what"],
  ["npm run ipamctl -- gc --nothing", "has no --nothing"],
  ["npm run nothing", "no script nothing"],
  ["npm start -- --nothing", "no --nothing"],
  ["kubectl apply -f crds/nothing.yaml", "there is no crds/nothing.yaml"],
  ["helm install a helm/nothing", "no chart helm/nothing"],
  ["helm install a helm/ipam-operator --set nothing=1", "has no value nothing"],
  ["node scripts/nothing.ts", "there is no scripts/nothing.ts"],
  ["frobnicate", "no program"],
])("a wrong command is found: %s", (command, fault) => {
  expect(faultOf(command)).toContain(fault);
});
