/** What verbs say where data and use disagree: the cases of section 12 that were answered wrongly. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { affinity, block, configuration, pool, usedBlock } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { NOW, node, ofPod, pod, sound } from "./sound.ts";

const input = (name: string) => inputSnapshot(`${name}.yaml`, NOW);
const answer = async (snapshot: Snapshot, ...args: string[]) => {
  const ran = await ipamctl([...args, "-o", "json"], { snapshot });
  return { ...JSON.parse(ran.stdout), code: ran.code };
};
const why = (snapshot: Snapshot, ...args: string[]) => answer(snapshot, "why", ...args);

describe("TRY-40: why is true", () => {
  it("r06: the next address of the node's own block is in use by a pod", async () => {
    expect(await why(input("r06-redeployed-without-allocations"), "--node", "n1")).toMatchObject({
      code: 3,
      causes: [
        {
          code: "InUseNotAllocated",
          message: "the next address is 192.168.0.9, which no block holds, and Pod a/old-1 uses it",
          command: "kubectl delete pod -n a old-1",
        },
      ],
    });
  });

  it("the first address of a block that would be claimed is in use", async () => {
    const snapshot = input("r07b-gone-and-unowned");
    const pods = [pod("e", "z1", ["10.8.0.16"]), pod("f", "z1", ["10.8.0.24"])];
    const found = await why({ ...snapshot, pods }, "--node", "z1");
    expect(found).toMatchObject({ code: 3, causes: [{ code: "InUseNotAllocated" }] });
  });

  it("r01: the next address of an overlapping block is another block's, and a pod uses it", async () => {
    const found = await why(input("r01-overlapping-block-sizes"), "--node", "n05");
    expect(found).toMatchObject({
      code: 3,
      causes: [{ code: "OverlappingBlocks", command: "ipamctl repair OverlappingBlocks" }],
    });
    expect(found.causes[0].message).toContain("10.233.64.34");
  });

  it("r05: the address that is asked for is held by an earlier sandbox of the pod itself", async () => {
    const snapshot = input("r05-fixed-address-after-power-loss");
    const found = await why(snapshot, "t1/bgptest-76b95656df-aaaaa");
    expect(found).toMatchObject({
      code: 3,
      causes: [{ code: "AddressTaken", command: "ipamctl release 90.0.0.1 --even-in-use" }],
    });
    expect(found.causes[0].message).toMatch(
      /90\.0\.0\.1, which is held by an earlier sandbox .*k8s-pod-network\.oldsandbox/,
    );
  });

  it("r05: another pod that asks for it is told who holds it", async () => {
    const found = await why(input("r05-fixed-address-after-power-loss"), "t1/bgptest-76b95656df-bbbbb");
    expect(found.causes[0].message).toContain("is allocated to pod t1/bgptest-76b95656df-aaaaa");
  });

  const STRICT: Snapshot = {
    ...sound,
    pools: [pool("six", "10.6.0.0/28", { blockSize: 29 })],
    configurations: [configuration({ strictAffinity: true, autoAllocateBlocks: true })],
    blocks: ["10.6.0.0/29", "10.6.0.8/29"].map((cidr) =>
      usedBlock(
        cidr,
        "node-a",
        Object.fromEntries(Array.from({ length: 8 }, (_, at) => [at, ofPod(`gone-${cidr}-${at}`, "node-a")])),
      ),
    ),
    affinities: ["10.6.0.0/29", "10.6.0.8/29"].map((cidr) => affinity("node-a", cidr)),
    handles: [],
    pods: [],
    services: [],
    nodes: [node("node-a"), node("node-b")],
  };

  it("leaks in other nodes' blocks are what keeps this node from claiming", async () => {
    const found = await why(STRICT, "--node", "node-b");
    expect(found.code).toBe(3);
    expect(found.causes.map(({ code }: { code: string }) => code)).toEqual(["LeakedAddress"]);
    expect(found.causes[0].message).toMatch(/^16 leaked addresses .* are all that 2 blocks of other nodes hold/);
    expect(found.causes[0].command).toBe("ipamctl gc");
  });

  it("a node without blocks is not said to have full ones", async () => {
    const blocks = ["10.6.0.0/29", "10.6.0.8/29"].map((cidr) =>
      usedBlock(cidr, "node-a", { 0: ofPod(cidr, "node-a") }),
    );
    const pods = blocks.map(({ spec }) => pod(spec.cidr, "node-a", [spec.cidr.split("/")[0]!]));
    const found = await why({ ...STRICT, blocks, pods }, "--node", "node-b");
    expect(found.causes[0]).toMatchObject({
      code: "StrictAffinity",
      message: expect.stringContaining("node-b owns no block"),
    });
  });
});

describe("TRY-03: overlapping blocks", () => {
  it("the odd block is found once, with what it shares and what is held twice", async () => {
    const { items: findings } = await answer(input("r01-overlapping-block-sizes"), "check");
    const found = findings.filter(({ code }: { code: string }) => code === "OverlappingBlocks");
    expect(found).toMatchObject([
      { severity: "critical", object: { name: "10-233-64-32-27" }, command: "ipamctl repair OverlappingBlocks" },
    ]);
    expect(found[0].message).toMatch(/10\.233\.64\.32 to 10\.233\.64\.39.*both hold 10\.233\.64\.32, 10\.233\.64\.33$/);
  });

  it("one that holds an address and was never confirmed says so", async () => {
    const snapshot = input("r01-overlapping-block-sizes");
    const affinities = snapshot.affinities.map((row) =>
      row.spec.node === "n05" ? { ...row, spec: { ...row.spec, state: "pending" as const } } : row,
    );
    const { items: findings } = await answer({ ...snapshot, affinities }, "check");
    const found = findings.find(({ code }: { code: string }) => code === "OverlappingBlocks");
    expect(found).toMatchObject({
      severity: "critical",
      message: expect.stringContaining("its claim is not confirmed"),
    });
  });

  it("no fix of an odd block says to edit it", async () => {
    for (const code of ["OverlappingBlocks", "ForeignBlockSize", "BlockOutsidePools"]) {
      const { stdout } = await ipamctl(["explain", code], {});
      expect(stdout).toContain("Do not edit the block");
    }
  });

  it("show --ip shows every block that holds the address", async () => {
    const found = await answer(input("r01-overlapping-block-sizes"), "show", "--ip", "10.233.64.33");
    expect(found).toMatchObject({
      usedBy: ["Pod app/p-l03-1", "Pod app/p-n05-1"],
      block: "10.233.64.32/27",
      alsoIn: [{ block: "10.233.64.32/29", handle: "k8s-pod-network.l031" }],
    });
    const { stdout } = await ipamctl(["show", "--ip", "10.233.64.33"], {
      snapshot: input("r01-overlapping-block-sizes"),
    });
    expect(stdout).toContain("10.233.64.32/29 (host:l03), handle k8s-pod-network.l031");
  });

  it("of overlapping pools the winner is named", async () => {
    const later = sound.pools.map((each) => ({
      ...each,
      metadata: { ...each.metadata, creationTimestamp: "2021-01-01T00:00:00Z" },
    }));
    const older = { ...pool("old", "10.0.0.0/28", { blockSize: 30 }) };
    const pools = [{ ...older, metadata: { name: "z-old", creationTimestamp: "2020-01-01T00:00:00Z" } }, ...later];
    const { items: findings } = await answer({ ...sound, pools }, "check");
    const found = findings.filter(({ code }: { code: string }) => code === "OverlappingPools");
    expect(found).toMatchObject([{ object: { name: "p4" }, message: expect.stringContaining('pool "z-old"') }]);
  });
});

it("assign refuses an address that is in use and not allocated", async () => {
  const snapshot = { ...sound, pods: [...sound.pods!, pod("thief", "node-a", ["10.0.0.2"])] };
  const { takenBecause } = await import("../../src/cli/assign/address.ts");
  const { inventoryOf } = await import("../../src/judgement/inventory.ts");
  expect(takenBecause(inventoryOf(snapshot), "10.0.0.2")).toBe("is not allocated and in use: Pod shop/thief uses it");
  expect(takenBecause(inventoryOf(sound), "10.0.0.2")).toBeUndefined();
});

it("a block in use is not called empty, whoever owns it", async () => {
  const blocks = [...sound.blocks, block("10.0.0.8/30")];
  const codes = async (snapshot: Snapshot) =>
    (await answer(snapshot, "check")).items.map(({ code }: { code: string }) => code);
  expect(await codes({ ...sound, blocks })).toEqual(["EmptyUnownedBlock"]);
  expect(await codes({ ...sound, blocks, pods: [...sound.pods!, pod("d", "node-a", ["10.0.0.9"])] })).toEqual([
    "InUseNotAllocated",
  ]);
});
