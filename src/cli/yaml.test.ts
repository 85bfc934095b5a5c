import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { escapeYaml } from "../escape.ts";
import { yamlText } from "./yaml.ts";

const VERSIONS = ["1.1", "1.2"] as const;
const scalar = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
  fc.string({ unit: fc.constantFrom(..."01278.:-+_eEoxynNO ~=<#'\"\n,[]{}&*!|>%@`?T") }),
  fc.constantFrom(
    "on",
    "Yes",
    "y",
    "012",
    "0o12",
    "1e3",
    "1_000",
    "12:30:45",
    "2026-01-02",
    "=",
    "<<",
    "~",
    "null",
    "",
  ),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.string({ unit: fc.constantFrom(..."ab01:-=<.\u0007") }).filter((text) => text !== "__proto__");
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, fc.array(tie("value")), fc.dictionary(key, tie("value"))),
}));

describe("YAML", () => {
  it("is the same value for readers of either version", () => {
    fc.assert(
      fc.property(value, (given) => {
        const plain = JSON.parse(JSON.stringify(given));
        const text = escapeYaml(yamlText({ items: plain }));
        for (const version of VERSIONS) expect(parse(text, { version })).toEqual({ items: plain });
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    "10.0.0.1",
    "10.0.0.0/24",
    "fd00::1",
    "default-ipv4-ippool",
    "host:node-a",
    "k8s-pod-network.web-0",
    "v1.2",
  ])("%s has no quotes", (text) => expect(yamlText({ text })).toBe(`text: ${text}\n`));

  it.each([
    "on",
    "off",
    "No",
    "n",
    "TRUE",
    "false",
    ".inf",
    "Y",
    "012",
    "1e3",
    "0x1f",
    "12:30",
    "2026-01-02T03:04:05Z",
    "=",
    "null",
    "",
    "+1,000",
    "1:2:3:4:5:6:7:8",
  ])("%j has quotes", (text) => expect(yamlText({ text })).toBe(`text: "${text}"\n`));
});
