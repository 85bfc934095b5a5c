import { expect, test } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { krewManifest } from "./krew.ts";

test("each archive is a platform, with its checksum", () => {
  const plugin = parse(krewManifest([{ name: "ipamctl-linux-x64.tar.gz", content: Buffer.from("abc") }]));
  expect(plugin).toMatchObject({
    kind: "Plugin",
    metadata: { name: "ipam" },
    spec: { version: `v${manifest.version}` },
  });
  expect(plugin.spec.platforms).toEqual([
    {
      selector: { matchLabels: { os: "linux", arch: "amd64" } },
      uri: expect.stringMatching(new RegExp(`/releases/download/v${manifest.version}/ipamctl-linux-x64\\.tar\\.gz$`)),
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      bin: "ipamctl",
    },
  ]);
});

test("krew's limit for the short description is kept", () => {
  expect(parse(krewManifest([])).spec.shortDescription.length).toBeLessThanOrEqual(50);
});

test("a file of another name is refused", () => {
  expect(() => krewManifest([{ name: "ipamctl-linux-mips.tar.gz", content: Buffer.from("") }])).toThrow(
    "ipamctl-linux-mips.tar.gz is not named",
  );
});
