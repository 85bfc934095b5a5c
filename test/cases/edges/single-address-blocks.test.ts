/** Blocks of one address: taken, cooling down, free again, and taken over by others. */
import { describe, expect, test } from "vitest";
import { check } from "../../invariants/check.ts";
import { count, errorOf, type World, world } from "../../support/ipam.ts";

const owner = (host: string) => ({ affinityType: "host", host }) as const;

describe.each([
  [4, "10.0.0.0/30", 32, ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"]],
  [6, "fd00::/126", 128, ["fd00::", "fd00::1", "fd00::2", "fd00::3"]],
] as const)("IPv%s", (version, cidr, blockSize, [a, b, c, d]) => {
  const start = () => world({ pools: [[cidr, blockSize]], blockOrder: () => 0n });
  const ask = async (w: World, hostname: string, number: number, handleID?: string) => {
    const numbers = version === 4 ? { num4: number } : { num6: number };
    const result = await w.ipam.autoAssign({ ...numbers, hostname, handleID, intendedUse: "Workload" });
    return result[`v${version}`]!;
  };
  const masked = (...ips: string[]) => ips.map((ip) => `${ip}/${blockSize}`);
  const expectSound = async (w: World) => expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);

  test("autoAssign claims a block for each address, assignIP one for its own, until none is left", async () => {
    await using w = await start();
    expect((await ask(w, "node-a", 2, "h")).ips).toEqual(masked(a, b));
    await w.ipam.assignIP({ ip: d, hostname: "node-b", handleID: "fixed" });
    expect(await errorOf(w.ipam.assignIP({ ip: a, hostname: "node-b" }))).toMatchObject({ code: "AlreadyExists" });
    const rest = await ask(w, "node-b", 2, "h");
    expect(rest).toMatchObject({ ips: masked(c), msgs: [`No IPs available in pools: [${cidr}]`] });
    expect(await w.ipam.getUtilization()).toMatchObject([{ capacity: 4n, inUse: 4n, available: 0n }, {}]);
    await expectSound(w);
  });

  test("release frees the address for its host, and an affinity given up takes block and row", async () => {
    await using w = await start();
    await ask(w, "node-a", 2, "h");
    await w.ipam.releaseIPs([{ address: a, handle: "h" }]);
    expect(await w.ipam.ipsByHandle("h")).toEqual([b]);
    expect((await ask(w, "node-a", 1, "again")).ips).toEqual(masked(a));
    expect(await errorOf(w.ipam.releaseHostAffinities(owner("node-a"), true))).toMatchObject({ code: "BlockNotEmpty" });
    await w.ipam.releaseByHandle("h");
    await w.ipam.releaseByHandle("again");
    await w.ipam.releaseHostAffinities(owner("node-a"), true);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("a borrowed block goes with its address", async () => {
    await using w = await start();
    await ask(w, "node-a", 1, "h");
    await w.ipam.removeIPAMHost(owner("node-a"));
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.affinity)).toEqual([undefined]);
    await w.ipam.releaseByHandle("h");
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("what cools down is nobody's until its time", async () => {
    await using w = await start();
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 30 });
    await ask(w, "node-a", 4, "h");
    await w.ipam.releaseIPs([{ address: b, handle: "h" }]);
    for (const host of ["node-a", "node-b"]) {
      const { ips, msgs } = await ask(w, host, 1);
      expect([host, ips, msgs.some((msg) => /cool/.test(msg))]).toEqual([host, [], true]);
    }
    expect(await errorOf(w.ipam.assignIP({ ip: b, hostname: "node-a" }))).toMatchObject({ code: "AlreadyExists" });
    expect(await w.ipam.getUtilization()).toMatchObject([{ inUse: 4n, inCooldown: 1n, available: 0n }, {}]);
    w.pass(31);
    expect((await ask(w, "node-a", 1)).ips).toEqual(masked(b));
    await expectSound(w);
  });

  test("a collection frees what cooled down, and takes along a block that nobody owns", async () => {
    await using w = await start();
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 30 });
    await ask(w, "node-a", 2, "h");
    await w.ipam.releaseByHandle("h");
    await w.ipam.releaseBlockAffinity(await w.block(`${a}/${blockSize}`), false);
    w.pass(31);
    for (const block of await w.all("IPAMBlock")) await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 30 }, block);
    expect((await w.all("IPAMBlock")).map(({ spec }) => [spec.cidr, spec.unallocated])).toEqual([[masked(b)[0], [0]]]);
    await expectSound(w);
  });

  test("an empty block of another host is borrowed from while it is young, and taken over afterwards", async () => {
    await using w = await start();
    await ask(w, "node-a", 4, "h");
    await w.ipam.releaseIPs([{ address: c, handle: "h" }]);
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    w.pass(59);
    expect(count(await ask(w, "node-b", 1))).toBe(0);
    w.pass(2);
    expect((await ask(w, "node-b", 1)).ips).toEqual(masked(c));
    expect((await w.block(`${c}/${blockSize}`)).spec.affinity).toBe("host:node-b");
    await expectSound(w);
  });
});
