/** `ipamctl assign` by situation. */
import { describe, expect, it } from "vitest";
import { configuration, pool } from "../support/ipam-data.ts";
import { sound } from "./sound.ts";
import { rowsOf, siteOf } from "./writing-site.ts";

const json = (...args: string[]) => ["assign", ...args, "-o", "json"];
const itemsOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).items;

describe("an address that is chosen", () => {
  it("is taken for the node under a handle of its own, and given back by it", async () => {
    const site = await siteOf(sound);
    const ran = await site.run(json("--node", "node-a"));
    expect(ran.code).toBe(0);
    expect(ran.asked).toEqual(["Assign 1 IPv4 address to node-a? [y/N] "]);
    const [{ object, handle, addresses }] = itemsOf(ran);
    expect(addresses).toEqual([object]);
    expect(["10.0.0.2", "10.0.0.3"]).toContain(object);
    expect(ran.stderr).toContain(`ipamctl release --handle ${handle}`);
    expect((await site.findings()).map(({ code, address }) => [code, address])).toEqual([["UnknownOwner", object]]);
    expect(rowsOf(await site.run(["release", "--handle", handle, "-o", "json"]))).toEqual([`done release ${object}`]);
    expect(await site.codes()).toEqual([]);
  });

  it("several, of the other family, of a pool, for a pod", async () => {
    const site = await siteOf({ ...sound, pools: [...sound.pools, pool("more6", "fd01::/120", { blockSize: 122 })] });
    const flags = [
      "--count",
      "2",
      "--ip-version",
      "6",
      "--pool",
      "fd01::/120",
      "--pod",
      "shop/web-0",
      "--handle",
      "mine",
    ];
    const ran = await site.run(json("--node", "node-b", ...flags));
    expect(itemsOf(ran)[0].addresses).toEqual([expect.stringMatching(/^fd01::/), expect.stringMatching(/^fd01::/)]);
    const { blocks } = await site.snapshot();
    const entry = blocks.flatMap(({ spec }) => spec.attributes).find(({ handle_id }) => handle_id === "mine");
    expect(entry?.secondary).toEqual({
      node: "node-b",
      namespace: "shop",
      pod: "web-0",
      note: "assigned with ipamctl",
    });
  });

  it("fewer than asked for is no success: nothing is kept, and it is said why there are no more", async () => {
    const configurations = [configuration({ strictAffinity: true, autoAllocateBlocks: false })];
    const site = await siteOf({ ...sound, configurations });
    const ran = await site.run(json("--node", "node-a", "--count", "3", "--handle", "mine"));
    expect(ran.code).toBe(1);
    expect(rowsOf(ran)).toEqual(["failed assign no address"]);
    expect(itemsOf(ran)[0].why).toContain("autoAllocateBlocks");
    const handles = (await site.snapshot()).handles.map(({ metadata }) => metadata.name);
    expect(handles).not.toContain("mine");
  });

  it("--dry-run takes none", async () => {
    const site = await siteOf(sound);
    const before = await site.snapshot();
    expect(rowsOf(await site.run(json("--node", "node-a", "--dry-run")))).toEqual(["planned assign 1 IPv4 address"]);
    expect(await site.snapshot()).toEqual(before);
  });
});

describe("an address that is named", () => {
  it("is taken", async () => {
    const site = await siteOf(sound);
    const ran = await site.run(json("10.0.0.3", "--node", "node-a", "--handle", "mine"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done assign 10.0.0.3"]);
    expect((await site.findings()).map(({ address }) => address)).toEqual(["10.0.0.3"]);
  });

  it("also where it is reserved, and that is said", async () => {
    const ran = await (await siteOf(sound)).run(json("10.0.0.15", "--node", "node-a"));
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("10.0.0.15 is reserved") });
  });

  it.each([
    ["taken", "10.0.0.4", "is allocated to pod shop/web-1"],
    ["cooling down", "10.0.0.6", "cools down until 2026-01-02T12:04:00Z"],
    ["outside", "192.0.2.1", "is in no pool"],
  ])("%s: refused, and nobody asked", async (_what, address, why) => {
    const ran = await (await siteOf(sound)).run(json(address, "--node", "node-a"));
    expect(ran).toMatchObject({ code: 1, asked: [] });
    expect(itemsOf(ran)).toMatchObject([{ result: "kept", why }]);
  });

  it("of another use than the pool's is refused by the library, with its reason", async () => {
    const ran = await (await siteOf(sound)).run(json("10.4.0.1", "--node", "node-a"));
    expect(ran.code).toBe(1);
    expect(itemsOf(ran)[0].why).toContain("not allowed for use");
  });
});

describe("what cannot be meant", () => {
  it.each([
    [[], "say for which node"],
    [["10.0.0.300", "--node", "node-a"], "'10.0.0.300' is not an IP address"],
    [["--node", "node-a", "--count", "0"], "--count '0' is no whole number from 1 to 1024"],
    [["10.0.0.3", "--node", "node-a", "--count", "2"], "leave out --count"],
    [["--node", "node-a", "--pod", "web-0"], "is not NAMESPACE/NAME"],
    [["--node", "node-a", "--ip-version", "5"], "Allowed choices are 4, 6"],
  ])("%j is a usage error", async (args, message) => {
    const ran = await (await siteOf(sound)).run(["assign", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("a node that does not exist gets no block", async () => {
    const site = await siteOf(sound);
    const ran = await site.run(json("10.0.0.9", "--node", "node-x"));
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: 'ipamctl: there is no node "node-x"\n' });
    expect(await site.codes()).toEqual([]);
  });
});
