import { describe, expect, test } from "vitest";
import { errorOf, type World, world } from "../../test/support/ipam.ts";
import { emptyAttributeOwner, ownerMatches } from "./owners.ts";

const IP = "10.0.0.1";
const IP6 = "fd00::1";
const pools = {
  pools: [
    ["10.0.0.0/24", 26],
    ["fd00::/112", 122],
  ],
} as const;
const pod = (name: string): Record<string, string> => ({ pod: name, namespace: "ns", node: `node-of-${name}` });
const owner = (name: string) => ({ namespace: "ns", name });
const sides = async (w: World, ip = IP) => {
  const { activeOwnerAttrs, alternateOwnerAttrs } = await w.ipam.getAssignmentAttributes(ip);
  return [activeOwnerAttrs["pod"], alternateOwnerAttrs["pod"]];
};

test("T62: attributes of an assigned address, and of others none", async () => {
  await using w = await world(pools);
  for (const ip of ["11.0.0.1", IP])
    expect(await errorOf(w.ipam.getAssignmentAttributes(ip))).toMatchObject({ code: "NotFound" });
  await w.ipam.assignIP({ ip: IP, handleID: "vm", attrs: pod("a") });
  expect(await errorOf(w.ipam.getAssignmentAttributes("10.0.0.2"))).toMatchObject({
    code: "NotFound",
    message: "resource does not exist: 10.0.0.2 with error: IP is unassigned",
  });
  expect(await w.ipam.getAssignmentAttributes(IP)).toEqual({
    handleID: "vm",
    activeOwnerAttrs: pod("a"),
    alternateOwnerAttrs: {},
  });
});

describe("T63: setOwnerAttributes", () => {
  test("of an address whose block does not exist, or is gone when it is written: the address is not assigned", async () => {
    await using w = await world(pools);
    const set = () => w.ipam.setOwnerAttributes(IP, "vm", { alternateOwnerAttrs: pod("b") });
    expect(await errorOf(set())).toMatchObject({ name: "IpamError", code: "NotFound" });
    await w.ipam.assignIP({ ip: IP, handleID: "vm" });
    w.meddler = async ({ operation, kind }, store) => {
      if (operation === "update" && kind === "IPAMBlock") await store.delete(await w.block("10.0.0.0/26"));
    };
    expect(await errorOf(set())).toMatchObject({ name: "IpamError", code: "NotFound" });
  });

  test("sets and clears each side by itself", async () => {
    await using w = await world(pools);
    await w.ipam.assignIP({ ip: IP, handleID: "vm", attrs: pod("a") });
    await w.ipam.setOwnerAttributes(IP, "vm", { alternateOwnerAttrs: pod("b") });
    expect(await sides(w)).toEqual(["a", "b"]);
    await w.ipam.setOwnerAttributes(IP, "vm", { clearActiveOwner: true });
    expect(await sides(w)).toEqual([undefined, "b"]);
    await w.ipam.setOwnerAttributes(IP, "vm", { activeOwnerAttrs: pod("c"), alternateOwnerAttrs: {} });
    expect(await sides(w)).toEqual(["c", undefined]);
    expect((await w.block("10.0.0.0/26")).spec.attributes).toEqual([{ handle_id: "vm", secondary: pod("c") }]);
    const { sequenceNumber } = (await w.block("10.0.0.0/26")).spec;
    await w.ipam.setOwnerAttributes(IP, "vm", {});
    expect((await w.block("10.0.0.0/26")).spec.sequenceNumber).toBe(sequenceNumber! + 1n);
    expect(await sides(w)).toEqual(["c", undefined]);
  });

  test("asks the conditions of the sides that change, all before any change", async () => {
    await using w = await world(pools);
    await w.ipam.assignIP({ ip: IP, handleID: "vm", attrs: pod("a") });
    const swap = { activeOwnerAttrs: pod("x"), alternateOwnerAttrs: pod("y") };
    const refused = [
      { expectedActiveOwner: owner("b") },
      { expectedActiveOwner: owner("a"), expectedAlternateOwner: owner("b") },
      { verifyActiveOwnerEmpty: true },
      { expectedActiveOwner: owner("a"), expectedAlternateOwner: owner("a") },
      { expectedActiveOwner: emptyAttributeOwner() },
    ];
    for (const preconditions of refused) {
      expect(await errorOf(w.ipam.setOwnerAttributes(IP, "vm", swap, preconditions))).toMatchObject({
        code: "PreconditionFailed",
        message: `update conflict: ${IP}`,
        details: [
          expect.stringMatching(
            /^cannot set (Active|Alternate)OwnerAttrs: expected pod=\w* namespace=\w* but found pod=/,
          ),
        ],
      });
      expect(await sides(w)).toEqual(["a", undefined]);
    }
    const alternate = { alternateOwnerAttrs: pod("b") };
    await w.ipam.setOwnerAttributes(IP, "vm", alternate, { verifyActiveOwnerEmpty: true });
    const taken = w.ipam.setOwnerAttributes(IP, "vm", alternate, { verifyAlternateOwnerEmpty: true });
    expect(await errorOf(taken)).toMatchObject({ code: "PreconditionFailed" });
    await w.ipam.setOwnerAttributes(IP, "vm", { clearAlternateOwner: true });
    await w.ipam.setOwnerAttributes(IP, "vm", alternate, { verifyAlternateOwnerEmpty: true });
    await w.ipam.setOwnerAttributes(IP, "vm", swap, {
      expectedActiveOwner: owner("a"),
      expectedAlternateOwner: owner("b"),
    });
    expect(await sides(w)).toEqual(["x", "y"]);
  });

  test("refuses arguments that contradict each other, and addresses that are not the handle's", async () => {
    await using w = await world(pools);
    await w.ipam.assignIP({ ip: IP, handleID: "vm", attrs: pod("a") });
    const o = owner("a");
    const wrong = [
      [{ clearActiveOwner: true, activeOwnerAttrs: {} }, {}, "ClearActiveOwner=true and ActiveOwnerAttrs"],
      [{ clearAlternateOwner: true, alternateOwnerAttrs: {} }, {}, "ClearAlternateOwner=true and AlternateOwnerAttrs"],
      [{}, { expectedActiveOwner: o, verifyActiveOwnerEmpty: true }, "ExpectedActiveOwner and VerifyActiveOwnerEmpty"],
      [
        {},
        { expectedAlternateOwner: o, verifyAlternateOwnerEmpty: true },
        "ExpectedAlternateOwner and VerifyAlternateOwnerEmpty",
      ],
    ] as const;
    for (const [updates, preconditions, names] of wrong) {
      const message = `cannot set both ${names}: these are mutually exclusive`;
      const error = await errorOf(w.ipam.setOwnerAttributes(IP, "vm", updates, preconditions));
      expect(error).toMatchObject({ code: "InvalidArgument", message });
    }
    const clear = { clearActiveOwner: true };
    expect(await errorOf(w.ipam.setOwnerAttributes(IP, "vm", null as never))).toMatchObject({
      message: "updates cannot be nil",
    });
    expect(await errorOf(w.ipam.setOwnerAttributes(IP, "zz", clear))).toMatchObject({
      message: `IP ${IP} is not assigned to handle zz`,
    });
    expect(await errorOf(w.ipam.setOwnerAttributes("10.0.0.2", "vm", clear))).toMatchObject({ code: "NotFound" });
    expect(await errorOf(w.ipam.setOwnerAttributes("10.0.0.200", "vm", clear))).toMatchObject({ code: "NotFound" });
    expect(await errorOf(w.ipam.setOwnerAttributes("11.0.0.2", "vm", clear))).toMatchObject({
      message: "the provided IP address 11.0.0.2 is not in a configured pool",
    });
  });

  test("leaves other addresses alone that share the stored entry", async () => {
    await using w = await world(pools);
    for (const ip of [IP, "10.0.0.2"]) await w.ipam.assignIP({ ip, handleID: "vm", attrs: pod("a") });
    await w.ipam.setOwnerAttributes(IP, "vm", { activeOwnerAttrs: pod("b") });
    expect([await sides(w), await sides(w, "10.0.0.2")]).toEqual([
      ["b", undefined],
      ["a", undefined],
    ]);
  });
});

describe("T64: the end of a VM's migration", () => {
  const migrating = async (w: World) => {
    for (const ip of [IP, IP6]) {
      await w.ipam.assignIP({ ip, handleID: "vm", attrs: pod("source") });
      await w.ipam.setOwnerAttributes(ip, "vm", { alternateOwnerAttrs: pod("target") });
    }
  };

  test("target and source change places in both families; once more is no error", async () => {
    await using w = await world(pools);
    await migrating(w);
    for (let i = 0; i < 2; i++) {
      await w.ipam.swapOwners("vm", owner("target"));
      expect([await sides(w), await sides(w, IP6)]).toEqual([
        ["target", "source"],
        ["target", "source"],
      ]);
    }
  });

  test("without the target as alternate owner there is nothing to swap", async () => {
    await using w = await world(pools);
    await migrating(w);
    expect(await errorOf(w.ipam.swapOwners("vm", owner("other")))).toMatchObject({ code: "AlternateOwnerMismatch" });
    await w.ipam.setOwnerAttributes(IP, "vm", { clearAlternateOwner: true });
    expect(await errorOf(w.ipam.swapOwners("vm", owner("target")))).toMatchObject({ code: "AlternateOwnerEmpty" });
    expect(await errorOf(w.ipam.swapOwners("nobody", owner("target")))).toMatchObject({ code: "NotFound" });
  });

  test("a source that is gone leaves no alternate owner; a change in between is looked at again", async () => {
    await using w = await world(pools);
    await migrating(w);
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "update" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.setOwnerAttributes(IP, "vm", { clearActiveOwner: true });
    };
    await w.ipam.swapOwners("vm", owner("target"));
    expect([await sides(w), await sides(w, IP6)]).toEqual([
      ["target", undefined],
      ["target", "source"],
    ]);
  });
});

test("nobody is matched by no attributes alone, a pod by both keys", () => {
  expect([undefined, {}, pod("a")].map((attrs) => ownerMatches(emptyAttributeOwner(), attrs))).toEqual([
    true,
    true,
    false,
  ]);
  expect([pod("a"), { pod: "a" }, undefined].map((attrs) => ownerMatches(owner("a"), attrs))).toEqual([
    true,
    false,
    false,
  ]);
});
