import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseSelector, SelectorError } from "./selector.ts";
import { evaluate, group, negation, print, type SelectorNode } from "./selector-node.ts";
import type { IPPool } from "./v3.ts";

const labels = { role: "edge", zone: "eu-west-1a", "kubernetes.io/os": "linux", empty: "" };

describe("CRD-03: `!all()`", () => {
  const pools = parseAllDocuments(
    readFileSync(new URL("../../test/cases/inputs/07-ippools-odd-block-sizes.yaml", import.meta.url), "utf8"),
  ).map((document) => document.toJS() as IPPool);

  test.each(["nobody", "nobody-spaced"])("pool %s selects nothing", (name) => {
    const { nodeSelector } = pools.find((pool) => pool.metadata.name === name)!.spec;
    const selector = parseSelector(nodeSelector!);
    expect(selector.text).toBe("!all()");
    expect(selector.matches({})).toBe(false);
    expect(selector.matches(labels)).toBe(false);
  });

  test("every selector of the collected pools can be read", () => {
    const selectors = pools.flatMap(({ spec }) => spec.nodeSelector ?? []);
    expect(selectors.length).toBeGreaterThan(5);
    for (const selector of selectors) expect(parseSelector(parseSelector(selector).text).text).toMatch(/./);
  });
});

describe("what a selector selects", () => {
  test.each([
    ["", true],
    [" \t", true],
    ["all()", true],
    ["all( )", true],
    ["has(role)", true],
    ["has( kubernetes.io/os )", true],
    ["has(other)", false],
    ["has(empty)", true],
    ["has(constructor)", false],
    ["role == 'edge'", true],
    ['role=="edge"', true],
    ["role == 'core'", false],
    ["other == 'edge'", false],
    ["empty == ''", true],
    ["role != 'edge'", false],
    ["role != 'core'", true],
    ["other != 'edge'", true],
    ["role in {'edge', 'core'}", true],
    ["role in {'core',}", false],
    ["role in {}", false],
    ["other in {'edge'}", false],
    ["role not in {'edge'}", false],
    ["role notin {'core'}", true],
    ["role not\tin {}", true],
    ["other not in {'edge'}", true],
    ["zone contains 'west'", true],
    ["other contains ''", false],
    ["zone starts with 'eu'", true],
    ["zone startswith 'us'", false],
    ["zone ends with '1a'", true],
    ["other ends with ''", false],
    ["!has(role)", false],
    ["!!has(role)", true],
    ["! ! !has(role)", false],
    ["!role == 'core'", true],
    ["has(other) || has(role) && has(zone)", true],
    ["has(role) || has(other) && has(other)", true],
    ["(has(role) || has(zone)) && has(other)", false],
    ["!(has(other) || has(missing)) && role == 'edge'", true],
    ["!has(other) && has(role)", true],
    ["all == 'x' || has != 'y'", true],
  ])("%j: %s", (text, selects) => expect(parseSelector(text).matches(labels)).toBe(selects));
});

describe("canonical text", () => {
  test.each([
    ["", "all()"],
    ["role=='edge'", 'role == "edge"'],
    [`role == 'say "hi"'`, `role == 'say "hi"'`],
    ["role in {'b','a','b',}", 'role in {"a", "b"}'],
    ["role notin {}", "role not in {}"],
    ["!!!has(a)", "!has(a)"],
    ["!(!has(a))", "has(a)"],
    ["((has(a)))", "has(a)"],
    ["has(a)&&has(b)||has(c)", "((has(a) && has(b)) || has(c))"],
    ["zone  starts  with 'eu'", 'zone starts with "eu"'],
  ])("%j is %j", (text, canonical) => expect(parseSelector(text).text).toBe(canonical));

  test("parsing what was printed gives the same selector", () => {
    fc.assert(
      fc.property(node, (ast) => {
        expect(parseSelector(print(ast)).node).toEqual(ast);
      }),
    );
  });

  test("negation selects exactly what was not selected", () => {
    const some = fc.dictionary(fc.constantFrom("a", "b.c/d", "k-1"), fc.constantFrom("", "x", "xy"));
    fc.assert(
      fc.property(node, some, (ast, carried) => {
        expect(parseSelector(`!(${print(ast)})`).matches(carried)).toBe(!evaluate(ast, carried));
      }),
    );
  });
});

describe("what is no selector is refused with the place", () => {
  test.each([
    ["role", 4, "expected ==, !=, in, not in, contains, starts with or ends with after the label, found the end"],
    ["role = 'edge'", 5, "after the label, found \"= 'edge'\""],
    ["role == edge", 8, "expected a text in quotes"],
    ["role == 'edge", 8, "expected a text in quotes"],
    ["role in 'edge'", 8, "expected {"],
    ["role in {'a' 'b'}", 13, "expected , or }"],
    ["role in {'a',,}", 13, "expected a text in quotes"],
    ["role in {'a'", 12, "expected , or }"],
    ["(has(a)", 7, "expected ), found the end"],
    ["has(a))", 6, "expected &&, || or the end"],
    ["has(a) & has(b)", 7, "expected &&, || or the end"],
    ["has(a) &&", 9, "expected all(), has(label)"],
    ["has()", 3, "after the label"],
    ["&& has(a)", 0, "expected all(), has(label)"],
    ["!", 1, "expected all(), has(label)"],
    ["has(a)\n&& has(b)", 6, "expected &&, || or the end"],
    ["has(a) || global()", 10, "global() is not allowed in a pool's selector"],
    ["!global( )", 1, "global() is not allowed in a pool's selector"],
    [`${"k".repeat(513)} == 'v'`, 0, "a label of at most 512 characters"],
    ["ünit == 'v'", 0, "expected all(), has(label)"],
  ])("%j at %i", (text, position, problem) => {
    const error = refusal(text);
    expect(error.position).toBe(position);
    expect(error.message).toContain(`character ${position + 1}: `);
    expect(error.message).toContain(problem);
  });

  test("a label of 512 characters is one", () => {
    expect(parseSelector(`${"k".repeat(512)} == 'v'`).matches({ ["k".repeat(512)]: "v" })).toBe(true);
  });

  test("no text makes it fail in another way", () => {
    const pieces = fc.constantFrom(
      "has(",
      "all()",
      ")",
      "(",
      "!",
      "&&",
      "||",
      "a",
      " in ",
      "{",
      "}",
      "'x'",
      '"',
      ",",
      "==",
      " ",
      "not",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        try {
          expect(parseSelector(parseSelector(text).text).text).toBe(parseSelector(text).text);
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("nesting", () => {
  const nested = (depth: number, [open, close]: readonly [string, string], inner: string) =>
    open.repeat(depth) + inner + close.repeat(depth);
  const wrapper = fc.constantFrom(
    ["(", ")"],
    ["!(", ")"],
    ["( ", " )"],
    ["(has(a)||", ")"],
    ["!(has(a)&&!(", "))"],
  ) as fc.Arbitrary<readonly [string, string]>;

  test("as deep as a stored selector can be, it is read", () => {
    const text = nested(509, ["(", ")"], "all()");
    expect(text.length).toBeLessThanOrEqual(1024);
    expect(parseSelector(text).text).toBe("all()");
  });

  const parenthesesIn = (depth: number, [, close]: readonly [string, string]) => depth * (close.split(")").length - 1);

  test("at any depth it is read, or refused in a sentence that says how deep is too deep", () => {
    const inner = fc.constantFrom("all()", "a in {'b'}", "a b");
    const depth = fc.integer({ min: 0, max: 5000 });
    const atAnyDepth = fc.property(depth, wrapper, inner, (depth, wrapper, inner) => {
      const text = nested(depth, wrapper, inner);
      const tooDeep = parenthesesIn(depth, wrapper) > 512;
      if (!tooDeep && inner !== "a b") {
        parseSelector(text).matches(labels);
        return;
      }
      const { message } = refusal(text);
      if (tooDeep) expect(message).toContain("no more than 512 parentheses inside each other");
      expect(message.length).toBeLessThan(1500);
    });
    fc.assert(atAnyDepth, { examples: [[100_000, ["(", ")"], "all()"]] });
  });

  test("what is long and not deep is read: 100,000 negations, alternatives, values", () => {
    expect(parseSelector(`${"!".repeat(100_001)}all()`).text).toBe("!all()");
    expect(parseSelector(Array(100_000).fill("has(a)").join("||")).matches({ a: "" })).toBe(true);
    expect(parseSelector(`a in {${Array.from({ length: 100_000 }, (_, i) => `'${i}'`)}}`).matches({ a: "7" })).toBe(
      true,
    );
  });
});

function refusal(text: string): SelectorError {
  try {
    parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return error;
  }
  throw new Error(`${text} was not refused as a selector`);
}

const key = fc.constantFrom("a", "b.c/d", "k-1", "has", "all", "in", "not");
const value = fc
  .string({ unit: fc.constantFrom(..."ab xyü'\"\\{}&|!()") })
  .map((text) => (text.includes("'") ? text.replaceAll('"', "") : text));
const leaf: fc.Arbitrary<SelectorNode> = fc.oneof(
  fc.constant({ op: "all" as const }),
  key.map((key) => ({ op: "has" as const, key })),
  fc.record({ op: fc.constantFrom("==", "!=", "contains", "starts with", "ends with"), key, value }),
  fc.record({
    op: fc.constantFrom("in", "not in"),
    key,
    values: fc.uniqueArray(value, { maxLength: 4 }).map((values) => values.sort()),
  }),
);
const { node } = fc.letrec<{ node: SelectorNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie("node").map(negation),
    fc
      .tuple(fc.constantFrom("and" as const, "or" as const), fc.array(tie("node"), { minLength: 1, maxLength: 4 }))
      .map(([op, operands]) => group(op, operands)),
  ),
}));
