/** When the installed kind is used, and what is said when it is not. */
import { expect, it } from "vitest";
import { whyNotInstalled } from "./installed.ts";
import { ScriptedPath } from "./scripted-path.ts";

it("wants kind, a Docker engine that answers, and an image that it can pull", async () => {
  using path = new ScriptedPath();
  path.add("kind", "exit 127");
  expect(await whyNotInstalled(path.env)).toBe("kind is not installed");
  path.add("kind", "echo kind v0.33.0");
  path.add("docker", "echo Cannot connect to the Docker daemon >&2; exit 1");
  expect(await whyNotInstalled(path.env)).toBe("no Docker engine answers");
  path.add("docker", '[ "$1" = version ]');
  expect(await whyNotInstalled(path.env)).toBe("the Docker engine cannot pull images");
  path.add("docker", "exit 0");
  expect(await whyNotInstalled(path.env)).toBeUndefined();
});
