import { describe, expect, test } from "vitest";
import { errorOf, failing, world } from "../../test/support/ipam.ts";

const IP = "192.168.1.0";

describe("assignIP", () => {
  test("T31: base addresses are addresses; once more, and outside of pools, is refused", async () => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", 26],
        ["fd80:24e2:f998:72d6::/120", 122],
      ],
    });
    await w.ipam.assignIP({ ip: IP });
    await w.ipam.assignIP({ ip: "fd80:24e2:f998:72d6::" });
    expect(await errorOf(w.ipam.assignIP({ ip: "1.1.1.1" }))).toMatchObject({
      code: "NotInPool",
      message: "The provided IP address is not in a configured pool\n",
    });
    expect(await errorOf(w.ipam.assignIP({ ip: IP }))).toMatchObject({
      code: "AlreadyExists",
      message: `resource already exists: ${IP} with error: Address already assigned in block`,
    });
    expect(await errorOf(w.ipam.assignIP({ ip: "nonsense" }))).toMatchObject({ code: "InvalidArgument" });
  });

  test("T32: the intended use is enforced where it is given", async () => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", 26, { allowedUses: ["Workload"] }],
        ["10.0.0.0/24", 26],
      ],
    });
    expect(await errorOf(w.ipam.assignIP({ ip: IP, intendedUse: "Tunnel" }))).toMatchObject({
      code: "UseNotAllowed",
      message: `IP address ${IP} is in IP pool "pool0", which is not allowed for use "Tunnel" (allowedUses: [Workload])`,
    });
    await w.ipam.assignIP({ ip: IP, intendedUse: "Workload" });
    await w.ipam.assignIP({ ip: "192.168.1.1", intendedUse: "" });
    await w.ipam.assignIP({ ip: "10.0.0.1", intendedUse: "Tunnel" });
  });

  test("T33: with a limit the same handle is served again, with its attributes as they were", async () => {
    await using w = await world({ pools: [["192.168.1.0/24", 26]] });
    const args = { ip: IP, handleID: "vm", maxAllocToHandlePerIPVersion: 1 };
    await w.ipam.assignIP({ ...args, attrs: { pod: "a", node: "n" } });
    await w.ipam.assignIP({ ...args, attrs: { pod: "b" } });
    expect(await w.ipam.getAssignmentAttributes(IP)).toMatchObject({ activeOwnerAttrs: { pod: "a", node: "n" } });
    expect(await errorOf(w.ipam.assignIP({ ...args, ip: "192.168.1.9" }))).toMatchObject({
      code: "MaxAllocReached",
      message:
        "handle vm already has IP(s) allocated, cannot assign additional IP 192.168.1.9 (maxAllocPerIPVersion=1)",
    });
    expect(await errorOf(w.ipam.assignIP({ ip: IP, handleID: "vm" }))).toMatchObject({
      code: "AlreadyExists",
      holder: { handleID: "vm", node: "n" },
    });
  });

  test("T34: another host's block, a reserved address, a cooling one, a disabled pool", async () => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", 26],
        ["10.0.0.0/24", 26, { disabled: true }],
      ],
    });
    await w.put("IPReservation", "r", { reservedCIDRs: ["192.168.1.2/32"] });
    await w.ipam.assignIP({ ip: IP, hostname: "host-b" });
    await w.ipam.assignIP({ ip: "192.168.1.1" });
    await w.ipam.assignIP({ ip: "192.168.1.2" });
    await w.ipam.setIPAMConfig({ strictAffinity: true, ipCooldownSeconds: 100 });
    expect(await errorOf(w.ipam.assignIP({ ip: "192.168.1.3" }))).toMatchObject({
      code: "AffinityMismatch",
      message: "Block host affinity does not match",
    });
    await w.ipam.releaseIPs([{ address: IP }]);
    expect(await errorOf(w.ipam.assignIP({ ip: IP, hostname: "host-b" }))).toMatchObject({ code: "AlreadyExists" });
    expect(await errorOf(w.ipam.assignIP({ ip: "10.0.0.1" }))).toMatchObject({ code: "NotInPool" });
  });

  test.each([
    [false, undefined],
    [true, "AffinityMismatch"],
  ])("T35: a block that another host makes first (strict: %s)", async (strictAffinity, code) => {
    await using w = await world({ pools: [["192.168.1.0/24", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity });
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "create" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.claimAffinity("192.168.1.0/26", { affinityType: "host", host: "host-b" });
    };
    const outcome = await w.ipam.assignIP({ ip: IP }).then(
      () => undefined,
      (error) => error.code,
    );
    expect(outcome).toBe(code);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["host-b"]);
  });

  test("T36: two lost races leave an exact count", async () => {
    await using w = await world({ pools: [["192.168.1.0/24", 26]] });
    w.meddler = failing("update", "IPAMBlock", "Conflict", 2);
    await w.ipam.assignIP({ ip: IP, handleID: "h" });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "192.168.1.0/26": 1 });
  });

  test("the claim's rows are labelled and confirmed; nothing else is claimed", async () => {
    await using w = await world({ pools: [["192.168.1.0/24", 26]] });
    await w.ipam.assignIP({ ip: "192.168.1.70", intendedUse: "LoadBalancer" }).catch(() => undefined);
    await w.ipam.assignIP({ ip: "192.168.1.70", handleID: "h" });
    expect(w.writes()).toEqual([
      "create BlockAffinity",
      "create IPAMBlock",
      "update BlockAffinity",
      "create IPAMHandle",
      "update IPAMBlock",
    ]);
    expect((await w.block("192.168.1.64/26")).spec.sequenceNumberForAllocation).toHaveProperty("6");
  });
});
