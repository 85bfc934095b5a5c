import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson, parseJsonByReviver, printJson } from "./json.ts";

const safe = BigInt(Number.MAX_SAFE_INTEGER);
const integers = fc.oneof(
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
  fc.bigInt({ min: safe - 3n, max: safe + 3n }),
  fc.integer().map(BigInt),
);
/** Strings that would mislead a scanner which does not know where strings begin and end. */
const trickyText = fc.oneof(
  fc.string(),
  fc.constantFrom(
    "__proto__",
    "1767323045678900000",
    '{"seq":1767323045678900000}',
    "\\",
    '"',
    '\\"1767323045678900000',
    "\uF8FFint:1767323045678900000",
    "1767323045678900000:",
  ),
);
/** No backslash: Node 26.10's own JSON.parse takes the key `"\\""` for `"\\\\"` once it has seen that one (Node 20's does not). */
const trickyKey = trickyText.filter((text) => !text.includes("\\"));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    integers,
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
    trickyText,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.array(fc.tuple(trickyKey, tie("tree")), { maxLength: 4 }).map(Object.fromEntries),
  ),
}));
/** JSON text with spaces in places, and numbers in every notation. */
const numberText = fc.oneof(
  integers.map(String),
  fc.tuple(integers, fc.nat()).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(integers, fc.integer({ min: -30, max: 30 })).map(([whole, power]) => `${whole}e${power}`),
  fc.stringMatching(/^-?0\.\d{1,30}([eE][+-]?\d{1,2})?$/),
);
const jsonText = fc.oneof(
  tree.map(printJson),
  fc.uniqueArray(fc.tuple(trickyKey, numberText), { selector: ([key]) => key }).map((pairs) => {
    return `{${pairs.map(([key, number]) => ` ${JSON.stringify(key)} : ${number}\n`).join(",")}}`;
  }),
);

/** What JSON.parse would have made of it. */
function rounded(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, rounded(part)]));
}

describe("parseJson", () => {
  it("agrees with the reviver on every valid text", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(parseJson(text)).toStrictEqual(parseJsonByReviver(text));
      }),
      {
        numRuns: 2000,
      },
    );
  });

  it("takes and refuses what JSON.parse takes and refuses", () => {
    const characters = fc.constantFrom(...'1234567890123456789012345678""\\{}[]:,.-+e \nx\uF8FF');
    const garbled = fc
      .tuple(jsonText, fc.nat(), fc.string({ unit: characters, maxLength: 24 }))
      .map(([text, at, extra]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + extra + text.slice(place);
      });
    const outcome = (parse: () => unknown) => {
      try {
        return { value: parse() };
      } catch (error) {
        return (error as Error).name;
      }
    };
    fc.assert(
      fc.property(garbled, (text) => {
        expect(outcome(() => rounded(parseJson(text)))).toStrictEqual(outcome(() => JSON.parse(text)));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{"seq":1767323045678900000}', { seq: 1767323045678900000n }],
    [
      "[9007199254740991,9007199254740992,-9007199254740993]",
      [9007199254740991, 9007199254740992n, -9007199254740993n],
    ],
    ["[0.12345678901234567890,12345678901234567890.0,1e20]", [0.12345678901234568, 12345678901234567000, 1e20]],
    [
      '{"note":"{\\"seq\\":1767323045678900000}","seq":1767323045678900000}',
      { note: '{"seq":1767323045678900000}', seq: 1767323045678900000n },
    ],
    ['["\\uF8ffint:5",1767323045678900000]', ["\uF8FFint:5", 1767323045678900000n]],
    ["1767323045678900000", 1767323045678900000n],
  ])("reads %s", (text, value) => {
    expect(parseJson(text)).toStrictEqual(value);
  });

  it.each(["{1767323045678900000:1}", "[00000000000000000001]", "-", '{"a":17673230456789000001x}', ""])(
    "refuses %s",
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it("makes __proto__ an own property, and no prototype", () => {
    const value = parseJson('{"__proto__":{"n":1767323045678900000}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.entries(value)).toStrictEqual([["__proto__", { n: 1767323045678900000n }]]);
    expect(({} as Record<string, unknown>).n).toBeUndefined();
  });

  it("reads a string of ten million characters", () => {
    const text = `["${"a\\n".repeat(3_500_000)}",1767323045678900000]`;
    expect((parseJson(text) as unknown[])[1]).toBe(1767323045678900000n);
  });
});

/** What a hostile server sends: each takes the time that its size needs, and ends in an error that callers expect. */
describe("parseJson of hostile text", () => {
  it("refuses a string without end", () => {
    expect(() => parseJson(`[1767323045678900000,"${'\\"'.repeat(500_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson(`[1767323045678900000,"${'\\"'.repeat(500_000)}\\`)).toThrow(SyntaxError);
  });

  it("refuses what is nested too deeply", () => {
    const nested = (item: string) => `${`[${item},`.repeat(100_000)}1${"]".repeat(100_000)}`;
    expect(() => parseJson(nested("1767323045678900000"))).toThrow(/nested too deeply/);
    expect(() => parseJson(nested('"\uf8ff",1767323045678900000'))).toThrow(/nested too deeply/);
  });

  it("reads an integer of millions of digits as JSON.parse does", () => {
    expect(parseJson(`[${"1".repeat(10_000_000)}]`)).toEqual([Number.POSITIVE_INFINITY]);
    expect(parseJson(`["\uf8ff",${"1".repeat(10_000_000)}]`)).toEqual(["\uf8ff", Number.POSITIVE_INFINITY]);
  });
});

describe("printJson", () => {
  it("is undone by parseJson", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = printJson(value);
        expect(printJson(parseJson(text))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it("prints a bigint as a bare number", () => {
    expect(printJson({ seq: 1767323045678900000n, list: [-1n] })).toBe('{"seq":1767323045678900000,"list":[-1]}');
  });
});
