import { expect, test } from "vitest";
import { isDeletionOf, isListOf, isObjectOf, parsedAnswer } from "./answers.ts";

const POOLS = { group: "projectcalico.org", version: "v3", plural: "ippools", kind: "IPPool" };
const QUESTION = {
  action: 'get IPPool "a"',
  method: "GET",
  path: "/apis/projectcalico.org/v3/ippools/a?x=1",
  server: "https://10.0.0.1:6443",
} as const;
const FROM = 'cannot get IPPool "a": the answer from https://10.0.0.1:6443';
const metadata = { name: "a", resourceVersion: "7", uid: "u" };
const pool = { kind: "IPPool", apiVersion: "projectcalico.org/v3", metadata };
const list = { kind: "IPPoolList", metadata: { resourceVersion: "7" }, items: [pool] };

test.each([
  ["<html>\n\u001b[2J</html>", '"<html>\\n\\u001b[2J</html>"'],
  ["", '""'],
  ['{"kind":', '"{\\"kind\\":"'],
  ["authorization: Bearer s3cret\nhost: x", '"authorization: Bearer …\\nhost: x"'],
  ["ü".repeat(100), `"${"ü".repeat(30)}…"`],
])("what is not JSON is an error that says what came from whom (%#)", (text, shown) => {
  expect(() => parsedAnswer(QUESTION, text)).toThrow(
    expect.objectContaining({
      code: "ServerError",
      message: `${FROM} is not JSON: GET /apis/projectcalico.org/v3/ippools/a gave ${shown}`,
    }),
  );
});

const NO_POOL = "is not of kind IPPool";
test.each([
  [null, NO_POOL],
  [[], NO_POOL],
  ["x", NO_POOL],
  [{}, NO_POOL],
  [{ kind: "Status", metadata: {}, status: "Success" }, NO_POOL],
  [{ kind: "IPPool" }, "has no metadata"],
  [{ kind: "IPPool", metadata: null }, "has no metadata"],
  [{ kind: "IPPool", metadata: { name: 7 } }, "has no metadata.name"],
  [
    { kind: "IPPool", metadata: { ...metadata, resourceVersion: 7 } },
    "has a metadata.resourceVersion that is no number",
  ],
  [
    { kind: "IPPool", metadata: { ...metadata, resourceVersion: "x" } },
    "has a metadata.resourceVersion that is no number",
  ],
  [{ kind: "IPPool", metadata: { ...metadata, uid: null } }, "has a metadata.uid that is not a text"],
  [
    { kind: "IPPool", metadata: { ...metadata, deletionTimestamp: 7 } },
    "has a metadata.deletionTimestamp that is not a text",
  ],
  [{ kind: "IPPool", metadata: { ...metadata, labels: { a: 7 } } }, "has metadata.labels that are not texts"],
  [{ kind: "IPPool", metadata: { ...metadata, labels: null } }, "has metadata.labels that are not texts"],
  [{ kind: "IPPool", metadata: { ...metadata, annotations: [] } }, "has metadata.annotations that are not texts"],
  [{ kind: "IPPool", metadata: { ...metadata, name: "b" } }, 'is another object than IPPool "a"'],
])("an object: %j %s", (answer, problem) => {
  const check = isObjectOf(POOLS, "a");
  expect(check(answer)).toBe(problem);
  expect(() => parsedAnswer(QUESTION, JSON.stringify(answer), check)).toThrow(`${FROM} ${problem}: GET `);
});

test("an object that is one, and a review, which has no name", () => {
  expect(parsedAnswer(QUESTION, JSON.stringify(pool), isObjectOf(POOLS, "a"))).toEqual(pool);
  const spare = { creationTimestamp: null };
  expect(isObjectOf(POOLS, "a")({ ...pool, metadata: { ...metadata, ...spare } })).toBeUndefined();
  expect(isObjectOf(POOLS, "")({ kind: "IPPool", metadata: spare })).toBeUndefined();
});

const NO_LIST = "is not a list of kind IPPool";
test.each([
  [null, NO_LIST],
  [{}, NO_LIST],
  [[pool], NO_LIST],
  [pool, NO_LIST],
  [{ ...list, kind: "ConfigMapList" }, NO_LIST],
  [{ ...list, metadata: null }, "has no metadata.resourceVersion that is a number"],
  [{ ...list, metadata: { resourceVersion: 7 } }, "has no metadata.resourceVersion that is a number"],
  [{ ...list, metadata: { resourceVersion: "7", continue: 7 } }, "has a metadata.continue that is not a text"],
  [{ ...list, items: {} }, "has items that are not a list"],
  [{ ...list, items: [pool, null] }, "has an item, items[1], that is not an object"],
  [{ ...list, items: [{}] }, "has an item, items[0], that has no metadata"],
  [{ ...list, items: [{ ...pool, kind: "ConfigMap" }] }, "has an item, items[0], that is not of kind IPPool"],
])("a list: %j %s", (answer, problem) => {
  expect(isListOf(POOLS)(answer)).toBe(problem);
});

test("lists that are one: of metadata, of items without a kind, and empty ones, which some servers print as null", () => {
  const partial = { ...list, kind: "PartialObjectMetadataList", items: [{ kind: "PartialObjectMetadata", metadata }] };
  const empty = [
    { ...list, items: null },
    { ...list, items: [] },
    { kind: list.kind, metadata: list.metadata },
  ];
  for (const answer of [list, partial, { ...list, items: [{ metadata }] }, ...empty]) {
    expect(isListOf(POOLS)(answer)).toBeUndefined();
  }
});

test("a deletion is answered with the object or a Status", () => {
  expect(isDeletionOf(POOLS)(pool)).toBeUndefined();
  expect(isDeletionOf(POOLS)({ kind: "Status" })).toBeUndefined();
  for (const answer of [null, {}, [], { kind: "ConfigMap" }])
    expect(isDeletionOf(POOLS)(answer)).toBe("is neither of kind IPPool nor a Status");
});
