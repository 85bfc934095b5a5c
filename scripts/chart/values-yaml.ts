/** values.yaml: every value with its default, under its description. */
import { stringify } from "yaml";
import type { z } from "zod";
import { jsonSchema, membersOf, type ValueSchema } from "./schema.ts";

const HEAD = `# Generated from scripts/chart by \`npm run generate\`. Put what you change into a file of your own (--values FILE).`;
const WIDTH = 110;

export function valuesFile(values: z.ZodType): string {
  const members = membersOf(jsonSchema(values)) ?? [];
  return [HEAD, ...members.flatMap((member) => ["", ...lines(member, "")]), ""].join("\n");
}

function lines([name, value]: [string, ValueSchema], indent: string): string[] {
  const inner = membersOf(value)?.flatMap((member) => lines(member, `${indent}  `));
  const own = inner === undefined ? stringify({ [name]: value.default }, { lineWidth: 0 }) : `${name}:`;
  const ownLines = own
    .trimEnd()
    .split("\n")
    .map((line) => indent + line);
  return [...comment(value.description ?? "", indent), ...ownLines, ...(inner ?? [])];
}

function comment(words: string, indent: string): string[] {
  const wrapped: string[] = [];
  for (const word of words.split(" ")) {
    const last = wrapped.at(-1);
    if (last === undefined || last.length + word.length >= WIDTH) wrapped.push(`${indent}# ${word}`);
    else wrapped[wrapped.length - 1] = `${last} ${word}`;
  }
  return wrapped;
}
