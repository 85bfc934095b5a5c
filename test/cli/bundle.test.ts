/** A bundle is the snapshot, and every reading verb works on it as on what it was taken from. */
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { readBundle, writeBundle } from "../../src/cli/snapshot/bundle.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { bundleOf, ipamctl, scratchFile } from "./ipamctl.ts";
import { NOW, sound } from "./sound.ts";

const call = { signal: new AbortController().signal, now: () => NOW, env: {} };

async function roundTrip(snapshot: Snapshot, name: string): Promise<Snapshot> {
  const path = scratchFile(name);
  await writeBundle(snapshot, path, call.signal);
  return readBundle(path, call);
}

describe("a bundle", () => {
  it.each(["plain.bundle", "packed.bundle.gz"])("gives back what was written (%s)", async (name) => {
    expect(await roundTrip(sound, name)).toEqual(sound);
  });

  it("keeps numbers of 64 bits, gaps, and what could not be read", async () => {
    const [first, ...rest] = sound.blocks;
    const big = { ...first!, spec: { ...first!.spec, sequenceNumber: 1767323045678900001n } };
    const { pods: _pods, ...others } = sound;
    const malformed = [{ kind: "IPAMHandle", name: "odd", reason: "spec.block is a list" }];
    const snapshot = { ...others, blocks: [big, ...rest], malformed, unread: [{ part: "pods", reason: "forbidden" }] };
    expect(await roundTrip(snapshot, "gaps.bundle")).toEqual(snapshot);
  });

  it("names an object that it cannot read, and hides no other", async () => {
    const path = await bundleOf(sound);
    const lines = (await readFile(path, "utf8")).split("\n");
    const at = lines.findIndex((line) => line.startsWith('["handles"'));
    lines[at] = '["handles",{"metadata":{"name":"odd"},"kind":"IPAMHandle","spec":{"handleID":7,"block":{}}}]';
    await writeFile(path, lines.join("\n"));
    const { handles, malformed } = await readBundle(path, call);
    expect(handles).toHaveLength(sound.handles.length - 1);
    expect(malformed).toMatchObject([
      { kind: "IPAMHandle", name: "odd", reason: expect.stringContaining(`line ${at + 1} `) },
    ]);
  });

  it.each([
    ["nothing", () => "", /is empty: it is no bundle/],
    ["another file", () => "hello\n", /line 1: is not JSON/],
    ["other JSON", () => '{"a":1}\n', /line 1: does not say that this is a bundle/],
    ["the first half", (text: string) => text.split("\n").slice(0, 5).join("\n"), /ends after line 5/],
    [
      "a line less",
      (text: string) => text.replace(/\n\["pods".*\n/, "\n"),
      /is not an object of a bundle, nor its end/,
    ],
    ["something behind its end", (text: string) => `${text}{}\n`, /stands after the end of the bundle/],
    ["an unknown part", (text: string) => text.replace('["pods"', '["__proto__"'), /is of no part of a bundle/],
  ])("is refused where it is %s", async (_what, changed, message) => {
    const path = await bundleOf(sound);
    await writeFile(path, changed(await readFile(path, "utf8")));
    const ran = await ipamctl(["show", "--bundle", path]);
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(message) });
  });

  it("that is not there is an error in a line", async () => {
    const ran = await ipamctl(["show", "--bundle", "/nonexistent/a.bundle"]);
    expect(ran).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^ipamctl: .*\/nonexistent\/a\.bundle/),
    });
  });

  it("is left as it was where writing it is stopped", async () => {
    const path = await bundleOf(sound);
    const before = await readFile(path, "utf8");
    const stopped = writeBundle(sound, path, AbortSignal.abort(new Error("interrupted")));
    await expect(stopped).rejects.toThrow();
    expect(await readFile(path, "utf8")).toBe(before);
    await expect(readFile(`${path}.unfinished`)).rejects.toThrow("ENOENT");
  });
});

it.each([["show"], ["show", "--blocks"], ["show", "--node", "node-a"], ["show", "--configuration"], ["show", "--map"]])(
  "%s %s says the same of an embedded store as of a bundle of its data",
  async (...args) => {
    const {
      nodes: _n,
      namespaces: _s,
      pods: _p,
      services: _v,
      events: _e,
      clusterInformation: _c,
      controllers: _k,
      ...data
    } = sound;
    const [stored, bundled] = [await ipamctl(args, { stored: sound }), await ipamctl(args, { snapshot: data })];
    expect(stored).toEqual(bundled);
    expect(stored.stdout).not.toBe("");
  },
);

describe("the verb", () => {
  it.each(["taken.bundle", "taken.bundle.gz"])("writes %s, which the others read", async (name) => {
    const path = scratchFile(name);
    const ran = await ipamctl(["bundle", path], { stored: sound });
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "wrote 4 blocks, 5 handles and 0 pods\n" });
    expect(await ipamctl(["show", "--bundle", path])).toEqual(await ipamctl(["show"], { stored: sound }));
  });

  it("writes to standard output", async () => {
    const ran = await ipamctl(["bundle", "-"], { stored: sound });
    const path = scratchFile("piped.bundle");
    await writeFile(path, ran.stdout);
    expect((await readBundle(path, call)).blocks).toHaveLength(4);
  });

  it("leaves nothing where it may not write", async () => {
    const ran = await ipamctl(["bundle", "/nonexistent/a.bundle"], { stored: sound });
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("/nonexistent/a.bundle") });
  });
});
