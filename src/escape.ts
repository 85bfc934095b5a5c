/**
 * Text from outside (objects, files, servers, arguments) as it may reach a terminal, a log or another program's screen.
 * The last place before a write calls one of these; to escape twice changes nothing.
 */

/**
 * Control characters, line separators, half surrogate pairs, and what has no glyph of its own: bidirectional controls,
 * zero-width characters, tags, variation selectors.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** One line: a line break in it does not begin another. */
export function escapeLine(text: string): string {
  return text.replace(UNSAFE, (character) => SHORT[character] ?? escaped(character));
}

/** Lines of the program's own; text from outside in them went through `escapeLine`. */
export function escapeText(text: string): string {
  return keepingLines(text, (character) => SHORT[character] ?? escaped(character));
}

/** The same, for text that was coloured after it was escaped: of control sequences only `codes` are kept. */
export function escapePainted(text: string, codes: readonly string[]): string {
  const start = codes.filter((code) => text.includes(code));
  if (start.length === 0) return escapeText(text);
  const [code] = start as [string];
  return text
    .split(code)
    .map((part) => escapePainted(part, codes))
    .join(code);
}

/** A JSON document, which stays the same value. */
export function escapeJson(json: string): string {
  return keepingLines(json, (character) =>
    Array.from({ length: character.length }, (_, at) => hex(character, at)).join(""),
  );
}

/** A YAML document whose strings are in double quotes, which stays the same value. */
export function escapeYaml(yaml: string): string {
  return keepingLines(yaml, (character) =>
    character.length === 1 ? hex(character, 0) : `\\U${codePoint(character).padStart(8, "0")}`,
  );
}

/** Whether the text must not be written as it is. */
export function isUnsafe(text: string): boolean {
  return text.search(UNSAFE) >= 0;
}

function keepingLines(text: string, spell: (character: string) => string): string {
  return text.replace(UNSAFE, (character) => (character === "\n" ? character : spell(character)));
}

const escaped = (character: string) => (character.length === 1 ? hex(character, 0) : `\\u{${codePoint(character)}}`);
const hex = (text: string, at: number) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
const codePoint = (character: string) => character.codePointAt(0)!.toString(16);
