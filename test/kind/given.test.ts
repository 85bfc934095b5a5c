/** A cluster that is named but not there. */
import { afterEach, expect, it, vi } from "vitest";
import { openGiven } from "./given.ts";
import { ScriptedPath } from "./scripted-path.ts";

afterEach(() => vi.unstubAllEnvs());

/** A folder of programs, and no cluster that an earlier run has kept. */
function withoutKept(): ScriptedPath {
  const path = new ScriptedPath();
  vi.stubEnv("IPAM_OPERATOR_CACHE", path.folder);
  return path;
}

it("says which clusters there are", async () => {
  using path = withoutKept();
  path.add("kind", "echo one; echo two");
  await expect(openGiven("three", path.env)).rejects.toThrow("no kind cluster three (kind knows one, two)");
});

it("says that there is none, and what to do", async () => {
  using path = withoutKept();
  path.add("kind", "exit 1");
  await expect(openGiven("three", path.env)).rejects.toThrow(/knows no cluster at all.*leave --kind out/);
});
