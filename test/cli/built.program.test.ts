/** The program as it is shipped: built into one file and the parts that its verbs load. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { bundleIpamctl } from "../../scripts/build.ts";
import { storeOf } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const dist = mkdtempSync(join(tmpdir(), "ipamctl-dist-"));
beforeAll(() => bundleIpamctl(dist));
afterAll(() => rmSync(dist, { recursive: true }));

it("answers in every form", async () => {
  const place = ["--datastore", `embedded:${await storeOf(sound)}`];
  const show = (format: string) => {
    const args = [join(dist, "ipamctl.mjs"), "show", "-o", format, ...place];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env: {} });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "IPS IN USE counts those that cool down: p4 1\n" });
    return stdout;
  };
  const document = JSON.parse(show("json"));
  expect(document.items).toHaveLength(3);
  expect(parse(show("yaml"))).toEqual(document);
  expect(show("name").split("\n")).toContain("ippool/p4");
  expect(show("wide")).toContain("NODE SELECTOR");
});
