/** CHANGELOG.md has the form of Keep a Changelog 1.1, and docs/upgrade.md has notes for each of its versions. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

const read = (path: string) => readFileSync(join(import.meta.dirname, "..", path), "utf8");
const SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/** What is wrong with a changelog's form, a sentence each. */
function faultsOf(changelog: string): string[] {
  const [head = "", ...versions] = changelog.split(/^## /m);
  const titles = versions.map((text) => text.split("\n")[0]!);
  return [
    ...(head.startsWith("# Changelog\n") ? [] : ["the title is not Changelog"]),
    ...(titles[0] === "[Unreleased]" ? [] : ["[Unreleased] is not first"]),
    ...titles.slice(1).flatMap((title) => (RELEASE.test(title) ? [] : [`${title} is no version with its date`])),
    ...(isSorted(titles.slice(1)) ? [] : ["the latest version is not first"]),
    ...titles.flatMap((title) => (changelog.includes(`\n${linkOf(title)}: http`) ? [] : [`${title} has no link`])),
    ...versions.flatMap((text, index) => sectionFaults(text).map((fault) => `${titles[index]}: ${fault}`)),
  ];
}
const RELEASE = /^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d( \[YANKED\])?$/;
const linkOf = (title: string) => /^\[[^\]]*\]/.exec(title)?.[0] ?? `[${title}]`;

function isSorted(titles: readonly string[]): boolean {
  const dates = titles.map((title) => / - (\S+)/.exec(title)?.[1] ?? "");
  return dates.every((date, index) => index === 0 || date <= dates[index - 1]!);
}

function sectionFaults(version: string): string[] {
  const [, ...sections] = version.split(/^### /m);
  const names = sections.map((text) => text.split("\n")[0]!);
  return [
    ...names.filter((name) => !SECTIONS.includes(name)).map((name) => `there is no section ${name}`),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name} is there twice`),
    ...sections.filter((text) => !/^- \S/m.test(text)).map((text) => `${text.split("\n")[0]} is empty`),
  ];
}

it("has the form of Keep a Changelog", () => {
  expect(faultsOf(read("CHANGELOG.md"))).toEqual([]);
});

it("has a version for the package, unless that is still to be released", () => {
  const released = [...read("CHANGELOG.md").matchAll(/^## \[(\d\S*)\]/gm)].map(([, version]) => version);
  const notes = read("docs/upgrade.md");
  if (released[0] !== manifest.version) expect(notes).toContain(`This becomes ${manifest.version}`);
  for (const version of ["Unreleased", ...released]) expect(notes).toMatch(new RegExp(`^## ${version}$`, "m"));
});

it.each([
  ["## Unreleased\n", "[Unreleased] is not first"],
  ["## [Unreleased]\n\n### Improved\n\n- a\n", "[Unreleased]: there is no section Improved"],
  ["## [Unreleased]\n\n### Added\n\n- a\n\n### Added\n\n- b\n", "[Unreleased]: Added is there twice"],
  ["## [Unreleased]\n\n### Fixed\n", "[Unreleased]: Fixed is empty"],
  ["## [Unreleased]\n\n## [1.0.0]\n", "[1.0.0] is no version with its date"],
  ["## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n\n## [1.1.0] - 2026-02-01\n", "the latest version is not first"],
])("finds what is wrong: %j", (text, fault) => {
  expect(faultsOf(`# Changelog\n\n${text}`)).toContain(fault);
});
