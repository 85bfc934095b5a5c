import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CHARACTERS, EVIL } from "../test/escapes/evil.ts";
import { escapeJson, escapeLine, escapePainted, escapeText, escapeYaml } from "./escape.ts";

describe("a line", () => {
  it.each([
    ["\u001b[31m", "\\u001b[31m"],
    ["a\r\n\tb", "a\\r\\n\\tb"],
    ["\u009b\u007f", "\\u009b\\u007f"],
    ["\u202e\u2066\u2028\u200b\ufeff", "\\u202e\\u2066\\u2028\\u200b\\ufeff"],
    ["\u{e0041}", "\\u{e0041}"],
    ["\ud800", "\\ud800"],
    ["Knödel 結び 👍 … – \\n", "Knödel 結び 👍 … – \\n"],
  ])("%j", (text, expected) => {
    expect(escapeLine(text)).toBe(expected);
    expect(escapeLine(expected)).toBe(expected);
  });

  it.each(Object.entries(CHARACTERS))("has no %s", (_what, character) => {
    for (const written of [escapeLine, escapeText, escapeJson, escapeYaml]) {
      expect(written(`a${character}b`)).not.toContain(character);
    }
  });
});

it("keeps the given codes of a coloured text, and no other", () => {
  const [red, reset] = ["\u001b[31m", "\u001b[0m"];
  expect(escapePainted(`${red}one${reset}\u001b[2J\n`, [red, reset])).toBe(`${red}one${reset}\\u001b[2J\n`);
  expect(escapePainted(`${red}one`, [])).toBe("\\u001b[31mone");
});

it("keeps the lines of a text", () => {
  expect(escapeText("one\ntwo\u001b\n")).toBe("one\ntwo\\u001b\n");
});

it.each([undefined, 2])("leaves a JSON document what it was (indent %j)", (indent) => {
  const value = { [EVIL]: [EVIL, "\u{e0041}", "👍"], plain: "é" };
  expect(JSON.parse(escapeJson(JSON.stringify(value, undefined, indent)))).toEqual(value);
});

it("leaves a quoted YAML scalar what it was", () => {
  const text = "\u{e0041}\u009b\u2028\u202e\u007f";
  for (const version of ["1.1", "1.2"] as const) expect(parse(escapeYaml(`"${text}"`), { version })).toBe(text);
});
