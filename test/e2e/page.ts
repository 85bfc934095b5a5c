/** The commands of a page: its fences marked `sh`, one command each, in the order of the page, under their headings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Where the page's commands are meant to be run. */
export const root = join(import.meta.dirname, "../..");

/** Commands by the heading that they stand under. A line that looks like a heading in a fence is none. */
export function commandsByHeading(markdown: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let heading = "";
  for (const [, title, language, text] of markdown.matchAll(/^#{1,6} (.*)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (language === "sh") found.set(heading, [...(found.get(heading) ?? []), text!.trim()]);
  }
  return found;
}

const sections = commandsByHeading(readFileSync(join(root, "docs/install.md"), "utf8"));

/** Commands of docs/install.md under a heading. @throws where there are none: the page was changed, the tests were not */
export function installPage(heading: string): readonly string[] {
  const commands = sections.get(heading);
  if (commands === undefined) {
    const there = [...sections.keys()].join(", ");
    throw new Error(`docs/install.md has no commands under "${heading}"; it has some under: ${there}`);
  }
  return commands;
}
