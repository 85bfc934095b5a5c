/** Text from outside that wants to steer a terminal or to begin a line that looks like ours. */
import { expect } from "vitest";

/** One of each class that a terminal acts on or does not show. */
export const CHARACTERS: Readonly<Record<string, string>> = {
  "a carriage return": "\r",
  "a tab": "\t",
  "a bell": "\u0007",
  "an escape sequence": "\u001b[2J",
  delete: "\u007f",
  "a C1 next line": "\u0085",
  "a C1 escape sequence": "\u009b31m",
  "a soft hyphen": "\u00ad",
  "an Arabic letter mark": "\u061c",
  "a filler without a glyph": "\u3164",
  "a space without width": "\u200b",
  "a right-to-left mark": "\u200f",
  "a line separator": "\u2028",
  "a paragraph separator": "\u2029",
  "a bidirectional override": "\u202e",
  "a bidirectional isolate": "\u2066",
  "a word joiner": "\u2060",
  "a variation selector": "\ufe0f",
  "a byte order mark": "\ufeff",
  "a tag character": "\u{e0041}",
  "half of a surrogate pair": "\ud800",
};

const FAKE = "INFO all is well";
/** Every character above and a line of its own. */
export const EVIL = `x${Object.values(CHARACTERS).join("y")}\n${FAKE}\n`;
/** The same without what a JSON document, a file name or an argument of a process cannot carry. */
export const PORTABLE = EVIL.replace("\ud800", "");

/** Nothing of it acts on a terminal, and what it brings is still there to be read. */
export function expectPlain(text: string): void {
  for (const [what, character] of Object.entries(CHARACTERS)) expect(text.includes(character), what).toBe(false);
  expect(text).not.toContain("\u001b");
  expect(text.split("\n").filter((line) => line.startsWith(FAKE))).toEqual([]);
  expect(text).toMatch(/\\(u001b|e)\[2J/);
}
