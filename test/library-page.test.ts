/** The first example of docs/library.md, run as it stands there; those on a cluster are run in library-page.cluster.test.ts. */
import { expect, test } from "vitest";
import { examplesOf, linesOf } from "./support/page-examples.ts";

test("assigns an address with its block's prefix and gives it back", { timeout: 180_000 }, async () => {
  const [example = ""] = examplesOf("docs/library.md");
  expect(await linesOf(example)).toEqual([expect.stringMatching(/^\[ '10\.0\.0\.\d+\/28' \]$/), "256n"]);
});
