/** What `-o` takes, and what to use for kubectl's template formats. */
import { expect, it } from "vitest";
import { FORMATS, formatProblem } from "./output-format.ts";

it.each(FORMATS)("%s is a format", (format) => {
  expect(formatProblem(format)).toBeUndefined();
});

it.each([
  ["jsonpath={.items[*].address}", "-o json | jq -r '.items[].address'"],
  ["jsonpath={range .items[*]}{.name}{end}", "-o json | jq -r '.items[]'"],
  ["custom-columns=NAME:.name,FREE:.free", "-o json | jq -r '.items[] | [.name, .free] | @tsv'"],
  ["custom-columns-file=columns.txt", "-o json | jq -r '.items[]'"],
  ["go-template={{.items}}", "-o json | jq -r '.items[]'"],
  ["jsn", "'jsn' is not a format: use one of table, wide, json, yaml, name"],
])("-o %s: the error names a way", (format, way) => {
  expect(formatProblem(format)).toContain(way);
});
