/** Cases of the configuration as far as the library reads and writes it. */
import { describe, expect, test } from "vitest";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import { count, errorOf, world } from "../support/ipam.ts";
import { configuration, reservation } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const pools = [["10.0.0.0/24", 26]] as const;

// CFG-03: kubectl and the Installation are tested with the operator.
test("CFG-03: autoAllocateBlocks left out means true: a new node gets its block", async () => {
  await using w = await world({ pools });
  await w.store.create(configuration({ strictAffinity: true, maxBlocksPerHost: 4 }));
  expect(await w.ipam.getIPAMConfig()).toMatchObject({ autoAllocateBlocks: true });
  expect(count((await w.ipam.autoAssign(ask)).v4)).toBe(1);
});

describe("CFG-04: a stored configuration that breaks a rule", () => {
  test.each([
    ["a cap without strict affinity", { strictAffinity: false, maxBlocksPerHost: 4 }, "maxBlocksPerHost: 4"],
    ["never allocate anywhere", { strictAffinity: false, autoAllocateBlocks: false }, "autoAllocateBlocks: false"],
  ])("%s: nothing is allocated or claimed, and both fields are named; releases go on", async (_, spec, words) => {
    await using w = await world({ pools });
    await w.ipam.autoAssign({ ...ask, handleID: "h" });
    await w.store.create(configuration({ ...spec, ipCooldownSeconds: 5 }));
    w.calls.splice(0);
    for (const call of [
      w.ipam.autoAssign(ask),
      w.ipam.assignIP({ ip: "10.0.0.9", hostname: "node-a" }),
      w.ipam.claimAffinity("10.0.0.0/24", { affinityType: "host", host: "node-a" }),
      w.ipam.getIPAMConfig(),
    ]) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ code: "IPAMConfigConflict" });
      for (const part of ["strictAffinity: false", words]) expect(error.message).toContain(part);
    }
    expect(w.writes()).toEqual([]);
    await w.ipam.releaseByHandle("h");
    const [pool] = await w.ipam.getUtilization();
    expect(pool).toMatchObject({ inUse: 1n, inCooldown: 1n });
    expect(w.warnings.filter((warning) => warning.includes(words))).toHaveLength(1);
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    expect(count((await w.ipam.autoAssign(ask)).v4)).toBe(1);
  });
});

test("CFG-10: fields that were not named, and those of the future, survive", async () => {
  await using w = await world({ pools });
  const known: IPAMConfigurationSpec = { strictAffinity: false, kubeVirtVMAddressPersistence: "Disabled" };
  const stored = { ...known, newInTheFuture: { keep: "me" } };
  await w.store.create(configuration(stored));
  await w.ipam.setIPAMConfig({ strictAffinity: true });
  const [object] = await w.all("IPAMConfiguration");
  expect(object?.spec).toMatchObject({ ...stored, strictAffinity: true });
});

// CLI-03: the flags are the command line's part.
test("CLI-03: changing one field keeps the others, and an invalid pair changes nothing", async () => {
  await using w = await world({ pools });
  expect(await w.ipam.setIPAMConfig({ strictAffinity: true })).toMatchObject({ written: true });
  await w.ipam.setIPAMConfig({ maxBlocksPerHost: 8, ipCooldownSeconds: 60 });
  const { config } = await w.ipam.setIPAMConfig({ autoAllocateBlocks: false });
  const all = { strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 8, ipCooldownSeconds: 60 };
  expect(config).toMatchObject(all);
  expect(await errorOf(w.ipam.setIPAMConfig({ strictAffinity: false }))).toMatchObject({ code: "IPAMConfigConflict" });
  expect(await w.ipam.getIPAMConfig()).toMatchObject(all);
});

// SEC-01: a use that is not stated is not checked: that is documented with assignIP.
describe("SEC-01: a fixed address out of a pool that is meant for something else", () => {
  const loadBalancers = [["10.0.0.0/24", 26, { allowedUses: ["LoadBalancer"] }]] as const;

  test.each(["Workload", "Tunnel"] as const)("is refused for a %s, with the uses that the pool allows", async (use) => {
    await using w = await world({ pools: loadBalancers });
    const error = await errorOf(w.ipam.assignIP({ ip: "10.0.0.1", hostname: "node-a", intendedUse: use }));
    expect(error).toMatchObject({
      code: "UseNotAllowed",
      message: `IP address 10.0.0.1 is in IP pool "pool0", which is not allowed for use "${use}" (allowedUses: [LoadBalancer])`,
    });
    expect(await errorOf(w.ipam.autoAssign({ ...ask, intendedUse: use }))).toMatchObject({ code: "NoQualifiedPool" });
    expect(w.writes()).toEqual([]);
  });

  test.each([
    ["for what it is meant for", { intendedUse: "LoadBalancer" }, "virtual:node-a"],
    ["where the use is not stated", {}, "host:node-a"],
  ] as const)("is given %s", async (_, use, owner) => {
    await using w = await world({ pools: loadBalancers });
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "node-a", handleID: "h", ...use });
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.1"]);
    expect((await w.block("10.0.0.0/26")).spec.affinity).toBe(owner);
  });

  test("reservations do not keep a fixed address from whoever asks for it", async () => {
    await using w = await world({ pools });
    await w.store.create(reservation("all", "10.0.0.0/24"));
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "node-a", intendedUse: "Workload" });
  });
});
