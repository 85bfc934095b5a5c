/** Files that `ipamctl` is given, however large and whatever is packed in them: each ends in a sentence. */
import { createWriteStream, truncateSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundleLines, writeBundle } from "../../src/cli/snapshot/bundle.ts";
import { ipamctl, scratchFile, storeOf } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const MIB = 2 ** 20;
const signal = new AbortController().signal;

async function packed(content: Iterable<string | Buffer>): Promise<string> {
  const path = scratchFile("a.gz");
  await pipeline(Readable.from(content), createGzip(), createWriteStream(path));
  return path;
}

const refused = async (path: string, what: string, args = ["show", "--bundle", path]) =>
  expect(await ipamctl(args)).toEqual({ code: 1, stdout: "", stderr: `ipamctl: ${path}${what}\n` });

describe("a bundle", () => {
  const header = [...bundleLines(sound)][0]!;
  const LINE = "is longer than 16 MiB, the limit for one object: it is no bundle of ipamctl, or damaged";

  it("of one line of 100 MB, packed into 97 kB", async () => {
    await refused(await packed(Array.from({ length: 100 }, () => Buffer.alloc(MIB, "x"))), `, line 1: ${LINE}`);
  });

  it("with one line of 100 MB after its first", async () => {
    const path = scratchFile("a");
    writeFileSync(path, `${header}["blocks","${"x".repeat(100 * MIB)}"]\n`);
    await refused(path, `, line 2: ${LINE}`);
  });

  it("of short lines that are packed to nothing", async () => {
    const lines = `["pods",{}]\n`.repeat(100_000);
    const path = await packed([header, ...Array.from({ length: 10 }, () => lines)]);
    await refused(path, ", line 10002: and 10,000 objects before it cannot be read");
    const readable = '["namespaces",{"name":"a","labels":{}}]\n'.repeat(100_000);
    const bomb = await packed([header, ...Array.from({ length: 10 }, () => readable)]);
    await refused(bomb, " cannot be read: it unpacks to more than 200 times its size, and no bundle of ipamctl does");
  });

  it("that is a device without end", async () => {
    await refused("/dev/zero", `, line 1: ${LINE}`);
  });

  it("with an object of 5 MB, as text and nested, is read", async () => {
    const [first, ...pools] = sound.pools;
    const note = "1234567890123456789".repeat(270_000);
    const large = { ...first!, metadata: { ...first!.metadata, annotations: { note } } };
    const path = scratchFile("a");
    await writeBundle({ ...sound, pools: [large, ...pools] }, path, signal);
    expect(await ipamctl(["show", "--bundle", path])).toMatchObject({ code: 0 });
    const deep = `["blocks",{"kind":"IPAMBlock","metadata":{"name":"deep"},"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}]\n`;
    const lines = [...bundleLines(sound)];
    const objects = lines.length - 1;
    writeFileSync(path, [...lines.slice(0, -1), deep, JSON.stringify({ objects })].join(""));
    const { code, stdout } = await ipamctl(["check", "--bundle", path, "-o", "json"]);
    expect(code).toBe(3);
    expect(stdout).toContain("deep");
    expect(stdout).not.toContain("call stack");
  });

  it("of the most repetitive cluster there is stays far below what is refused", async () => {
    const [block] = sound.blocks;
    const blocks = Array.from({ length: 20_000 }, (_, at) => ({
      ...block!,
      metadata: { ...block!.metadata, name: `b-${at}` },
    }));
    const content = [...bundleLines({ ...sound, blocks })].join("");
    expect(content.length / gzipSync(content).length).toBeLessThan(150);
  });
});

describe.each([
  ["plan", ["plan", "-f"], "3 MiB"],
  ["repair --restore", ["repair", "--yes", "--restore"], "128 MiB"],
  ["release --from-report", ["release", "--yes", "--from-report"], "128 MiB"],
])("%s", (_name, args, limit) => {
  it.each(["10 GB", "/dev/zero"])("of %s", async (what) => {
    const path = what === "/dev/zero" ? what : scratchFile("large");
    if (what !== path) {
      writeFileSync(path, "");
      truncateSync(path, 10_000 * MIB);
    }
    const place = ["--datastore", `embedded:${await storeOf(sound)}`];
    await refused(path, ` cannot be read: it is larger than ${limit}, the limit for such a file`, [
      ...args,
      path,
      ...place,
    ]);
  });
});

it("a manifest of 200,000 keys for plan", async () => {
  const path = scratchFile("a.yaml");
  writeFileSync(path, `a:\n${Array.from({ length: 200_000 }, (_, at) => `  k${at}: v\n`).join("")}`);
  const place = ["--datastore", `embedded:${await storeOf(sound)}`];
  const what = ": holds more than 25,000 keys and list entries, the limit for one file: divide it";
  await refused(path, what, ["plan", "-f", path, ...place]);
});
