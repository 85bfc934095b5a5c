/** The page of the library's errors says all that the sources know. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createIpam, openEmbedded } from "../../src/index.ts";
import { codesIn, generateLibraryErrors, methodsIn } from "./errors-page.ts";

const source = (file: string) => readFileSync(join(import.meta.dirname, "../../src/ipam", file), "utf8");
const codes = codesIn(source("errors.ts")).map(({ code }) => code);
const methods = methodsIn(source("client.ts"));
const page = [...generateLibraryErrors().values()].join();

test("every method of the library is on the page", async () => {
  const datastore = openEmbedded(":memory:");
  expect(methods.map(({ name }) => name).sort()).toEqual(Object.keys(createIpam({ datastore })).sort());
  await datastore.close();
});

describe("codes", () => {
  test("each that the sources have stands there with its meaning", () => {
    const inTable = /const CLASSES = \{([\s\S]*?)\n\}/.exec(source("errors.ts"))?.[1]?.match(/^ {2}\w+:/gm) ?? [];
    expect(codes).toEqual(inTable.map((entry) => entry.slice(2, -1)));
    expect(codes.length).toBeGreaterThan(25);
    for (const code of codes) expect(page).toMatch(new RegExp(`^\\| ${code} \\| \\S+ \\| .+ \\|$`, "m"));
  });

  test("each belongs to a method, but for the two that all have", () => {
    const named = methods.flatMap(({ throws }) => throws.match(/\b[A-Z]\w+\b/g) ?? []);
    expect(codes.filter((code) => !named.includes(code)).sort()).toEqual(["InvalidArgument", "MaxRetries"]);
  });

  test("what a method names is a code, and not the text of one", () => {
    const words = methods.flatMap(
      ({ throws }) => throws.replace(/DatastoreError .*/, "").match(/\b[A-Z][a-z]+[A-Z]\w+\b/g) ?? [],
    );
    expect(words.filter((word) => word !== "IpamError" && !/Result$/.test(word) && !codes.includes(word))).toEqual([]);
  });
});
