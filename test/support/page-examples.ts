/** The TypeScript examples of a page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The blocks marked `ts`, in the order of the page. */
export function examplesOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
}
