/** The table of opening errors in docs/library.md. Its examples are run against the packed package (test/package). */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const page = read("docs/library.md");
const sources = ["src/kube", "src/datastore"]
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map(read)
  .join("\n");

const [, section = ""] = /### Errors of opening\n([\s\S]*?)\n## /.exec(page) ?? [];
const rows = Array.from(section.matchAll(/^\| ([A-Z]\w+).*? \| (.*?) \|/gm), ([, code = "", texts = ""]) => ({
  code,
  texts: Array.from(texts.matchAll(/`([^`]+)`/g), ([, text = ""]) => text),
}));

test("each code that opening can end in has a row, and no other", () => {
  const [, promised = ""] =
    /export interface ConnectOptions[\s\S]*?\/\*\*\n( \* Opens[\s\S]*?)\*\//.exec(read("src/datastore/connect.ts")) ??
    [];
  const codes = promised.split("@throws")[1]!.match(/\b[A-Z][a-z]+[A-Z]\w+|Unavailable|Unauthorized/g)!;
  const named = codes.filter((code) => code !== "DatastoreError");
  expect([...new Set(rows.map(({ code }) => code))].sort()).toEqual([...new Set(named)].sort());
});

test.each(rows)("the message of $code is quoted as the program writes it", ({ texts }) => {
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) {
    const parts = text.split(/…|\d+ s|projectcalico.org\/v3/).map((part) => part.trim());
    expect(parts.filter((part) => !sources.includes(part))).toEqual([]);
  }
});
