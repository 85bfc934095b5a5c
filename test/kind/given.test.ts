/** A cluster that is named but not there. */
import { expect, it } from "vitest";
import { openGiven } from "./given.ts";
import { ScriptedPath } from "./scripted-path.ts";

it("says which clusters there are", async () => {
  using path = new ScriptedPath();
  path.add("kind", "echo one; echo two");
  await expect(openGiven("three", path.env)).rejects.toThrow("no kind cluster three (kind knows one, two)");
});

it("says that there is none, and what to do", async () => {
  using path = new ScriptedPath();
  path.add("kind", "exit 1");
  await expect(openGiven("three", path.env)).rejects.toThrow(/knows no cluster at all.*leave --kind out/);
});
