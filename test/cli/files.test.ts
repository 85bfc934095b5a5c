/** Files that a user names: each fault is told with the file and what is wrong, and nothing of theirs is replaced. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundleOf, ipamctl, scratchFile, storeOf } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const bundle = async () => readFileSync(await bundleOf(sound));
const fileWith = (name: string, content: Buffer | string) => {
  const path = scratchFile(name);
  writeFileSync(path, content);
  return path;
};
const told = (path: string, what: string) => ({ code: 1, stdout: "", stderr: `ipamctl: ${path} ${what}\n` });

describe("a file that cannot be read", () => {
  it.each([
    [["show", "--bundle"]],
    [["plan", "-f"]],
    [["repair", "--yes", "--restore"]],
    [["release", "--yes", "--from-report"]],
  ])("%j FILE", async (args) => {
    const place = args.includes("--bundle") ? [] : ["--datastore", `embedded:${await storeOf(sound)}`];
    const missing = scratchFile("missing");
    expect(await ipamctl([...args, missing, ...place])).toEqual(told(missing, "cannot be read: there is no such file"));
    const folder = dirname(missing);
    expect(await ipamctl([...args, folder, ...place])).toEqual(
      told(folder, "cannot be read: it is a folder, and no file"),
    );
  });

  it.each([5, 200])("a compressed bundle that was cut off after %i bytes", async (length) => {
    const cut = fileWith("cut.gz", gzipSync(await bundle()).subarray(0, length));
    const message = "cannot be read: it is damaged, or not whole: copy or take it again";
    expect(await ipamctl(["check", "--bundle", cut])).toEqual(told(cut, message));
  });

  it("an empty one", async () => {
    const empty = fileWith("empty.gz", "");
    expect(await ipamctl(["check", "--bundle", empty])).toEqual(told(empty, "is empty: it is no bundle of ipamctl"));
  });
});

it.each([
  ["compressed, by another name", "ipam.bundle", gzipSync],
  ["not compressed, by a name that says so", "ipam.gz", (content: Buffer) => content],
])("a bundle that is %s is read", async (_what, name, packed) => {
  const path = fileWith(name, packed(await bundle()));
  expect(await ipamctl(["check", "--bundle", path])).toMatchObject({ code: 0, stderr: "nothing found\n" });
});

describe("a file that cannot be written", () => {
  it.each([[["bundle"]], [["check", "--report"]]])("%j FILE", async (args) => {
    const place = ["--datastore", `embedded:${await storeOf(sound)}`];
    const path = scratchFile("a");
    const folder = join(dirname(path), "folder");
    mkdirSync(folder);
    expect(await ipamctl([...args, folder, ...place])).toEqual(
      told(folder, "cannot be written: it is a folder, and no file"),
    );
    const nowhere = join(dirname(path), "none", "a");
    expect(await ipamctl([...args, nowhere, ...place])).toEqual(
      told(nowhere, `cannot be written: there is no folder ${dirname(nowhere)}`),
    );
    expect(readdirSync(dirname(path))).toEqual(["folder"]);
  });

  it("for want of room; the device stays one", async () => {
    const place = ["--datastore", `embedded:${await storeOf(sound)}`];
    const device = "/dev/full";
    expect(await ipamctl(["bundle", device, ...place])).toEqual(told(device, "cannot be written: the disk is full"));
    expect(statSync(device).isCharacterDevice()).toBe(true);
  });
});

it("a pipe is written into, and of a link the file is not replaced", async () => {
  const place = ["--datastore", `embedded:${await storeOf(sound)}`];
  const pipe = scratchFile("pipe");
  expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
  const reader = spawn("cat", [pipe]);
  const [ran, read] = await Promise.all([ipamctl(["bundle", pipe, ...place]), text(reader.stdout)]);
  expect(ran.code).toBe(0);
  expect(read).toMatch(/\{"objects":\d+\}\n$/);
  const file = fileWith("old.gz", "old");
  const link = join(dirname(file), "latest.gz");
  symlinkSync(file, link);
  const refused = `cannot be written: it is a symbolic link to ${file}; give the path of the file itself`;
  expect(await ipamctl(["bundle", link, ...place])).toEqual(told(link, refused));
  expect(readFileSync(file, "utf8")).toBe("old");
});
