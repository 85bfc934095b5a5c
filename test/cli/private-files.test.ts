/** Every file that is written with a cluster's data: only its owner may read it, and nothing is written through a link. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Copy } from "../../src/cli/repair/copy.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

let umask: number;
beforeEach(() => {
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
});

/** A sentence where it fails. */
type Write = (path: string) => Promise<string | undefined>;

const byIpamctl =
  (...args: readonly string[]): Write =>
  async (path) => {
    const { code, stderr } = await ipamctl([...args, path], { stored: sound });
    return code === 0 ? undefined : stderr;
  };
const caught = (work: () => Promise<void>) =>
  work().then(
    () => undefined,
    (error: Error) => error.message,
  );

const REPLACING: Record<string, Write> = {
  bundle: byIpamctl("bundle"),
  "check --report": byIpamctl("check", "--report"),
};
const SINKS: Record<string, Write> = {
  ...REPLACING,
  "repair --copy": (path) =>
    caught(async () => {
      const copy = new Copy(path);
      await copy.add({ kind: "IPPool", name: "p" });
      await copy.close();
    }),
  "the embedded store": (path) => caught(async () => openEmbedded(path).close()),
};

describe.each(Object.entries(SINKS))("%s", (_name, write) => {
  it("makes a file for its owner only, whatever the umask, and leaves no other", async () => {
    const path = scratchFile("a");
    expect(await write(path)).toBeUndefined();
    expect(modeOf(path)).toBe("600");
    expect(readdirSync(dirname(path)).filter((name) => !/^a(-wal|-shm)?$/.test(name))).toEqual([]);
  });

  it("refuses a link, wherever it points, and says what to give", async () => {
    const target = scratchFile("target");
    writeFileSync(target, "");
    const link = join(dirname(target), "link");
    symlinkSync(target, link);
    expect(await write(link)).toMatch(/link/);
    expect(readFileSync(target, "utf8")).toBe("");
    const dangling = join(dirname(target), "dangling");
    symlinkSync(join(dirname(target), "nowhere"), dangling);
    expect(await write(dangling)).toMatch(/link/);
    expect(existsSync(join(dirname(target), "nowhere"))).toBe(false);
    expect(lstatSync(dangling).isSymbolicLink()).toBe(true);
  });
});

describe.each(Object.entries(REPLACING))("%s, which replaces a file", (_name, write) => {
  it.each([
    [0o666, "600"],
    [0o644, "600"],
    [0o400, "400"],
  ])("of mode %o makes it %s", async (mode, after) => {
    const path = scratchFile("a");
    writeFileSync(path, "old");
    chmodSync(path, mode);
    expect(await write(path)).toBeUndefined();
    expect(modeOf(path)).toBe(after);
    expect(readFileSync(path, "utf8")).not.toBe("old");
  });

  it("writes through no link that waits where the unfinished file is to be", async () => {
    const path = scratchFile("a");
    const victim = join(dirname(path), "victim");
    writeFileSync(victim, "kept");
    symlinkSync(victim, `${path}.unfinished`);
    expect(await write(path)).toBeUndefined();
    expect(readFileSync(victim, "utf8")).toBe("kept");
    expect(modeOf(path)).toBe("600");
  });
});

it("the embedded store's log is its owner's only, too, and a store of an earlier version becomes so", async () => {
  const path = scratchFile("a");
  await openEmbedded(path).close();
  chmodSync(path, 0o644);
  const store = openEmbedded(path);
  await store.create({
    apiVersion: "projectcalico.org/v3",
    kind: "IPPool",
    metadata: { name: "p" },
    spec: { cidr: "10.0.0.0/16" },
  });
  expect(["", "-wal", "-shm"].map((end) => modeOf(path + end))).toEqual(["600", "600", "600"]);
  await store.close();
});

it("a device and the standard output are written as they are", async () => {
  expect(await byIpamctl("bundle")("/dev/null")).toBeUndefined();
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
});
