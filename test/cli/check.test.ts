/** `ipamctl check` by situation: exit code, what stands on standard output, what is said beside it. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { calicoUid } from "../../src/cli/check/calico-uid.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { parseJson } from "../../src/kube/json.ts";
import { affinity, handle } from "../support/ipam-data.ts";
import { ipamctl, rows, scratchFile } from "./ipamctl.ts";
import { pod, sound } from "./sound.ts";

const orphans = (count: number) =>
  Array.from({ length: count }, (_, index) => handle(`ghost-${index}`, { "10.0.0.0/30": 1 }));
const thief = pod("thief", "node-a", ["10.0.0.2"]);
const bad: Snapshot = {
  ...sound,
  pods: [...sound.pods!.filter(({ name }) => name !== "web-1"), thief],
  handles: [...sound.handles, ...orphans(7)],
};

describe("exit code and streams", () => {
  it("a cluster that is as it should be ends with 0 and prints nothing", async () => {
    expect(await ipamctl(["check"], { snapshot: sound })).toEqual({ code: 0, stdout: "", stderr: "nothing found\n" });
  });

  it("findings end with 3, the worst first, with what mends each", async () => {
    const ran = await ipamctl(["check"], { snapshot: bad });
    expect(ran.code).toBe(3);
    const headings = ran.stdout.split("\n").filter((line) => /^\S/.test(line));
    expect(headings).toEqual([
      "critical InUseNotAllocated (1): An address is in use, and not allocated",
      "warning LeakedAddress (1): An address is allocated, and whoever it is for is gone",
      "info OrphanHandle (7): A handle counts addresses that nobody holds",
    ]);
    expect(ran.stdout).toContain("  and 2 more: -o wide shows all\n  fix: ipamctl repair OrphanHandle\n");
    expect(ran.stderr).toBe(
      "looked once: 9 of the findings may be changes under way\nfound 1 critical, 1 warning, 7 info\n",
    );
  });

  it("CLI-01: dangerous ones are told from harmless ones, in counts and exit codes", async () => {
    const harmless = { ...sound, handles: [...sound.handles, ...orphans(5000)] };
    const check = (snapshot: Snapshot, ...flags: string[]) => ipamctl(["check", ...flags], { snapshot });
    expect((await check(harmless)).code).toBe(3);
    expect((await check(harmless, "--fail-on", "critical")).code).toBe(0);
    expect((await check({ ...harmless, pods: [...sound.pods!, thief] }, "--fail-on", "critical")).code).toBe(3);
    const { summary, counts } = JSON.parse((await check(harmless, "-o", "json")).stdout);
    expect([summary, counts]).toEqual([{ critical: 0, warning: 0, info: 5000 }, { OrphanHandle: 5000 }]);
  });

  it("what is ignored is neither shown nor counted", async () => {
    const ran = await ipamctl(["check", "--ignore", "InUseNotAllocated", "LeakedAddress", "OrphanHandle"], {
      snapshot: bad,
    });
    expect(ran).toMatchObject({ code: 0, stdout: "" });
  });

  it("not having been able to look is no success", async () => {
    const { pods: _pods, ...rest } = sound;
    const blind = { ...rest, unread: [{ part: "pods", reason: "may not list pods" }] };
    const ran = await ipamctl(["check"], { snapshot: blind });
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain("not looked at: pods (may not list pods)");
  });

  it.each([
    [["--ignore", "LeakedAdress"], /did you mean LeakedAddress\?/],
    [["--fail-on", "bad"], /Allowed choices are critical, warning, info/],
    [["--second-look", "soon"], /'soon' is no number of seconds/],
  ])("check %j is refused", async (flags, message) => {
    const ran = await ipamctl(["check", ...flags], { snapshot: sound });
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });
});

describe("forms", () => {
  it("gives a program everything", async () => {
    const report = JSON.parse((await ipamctl(["check", "-o", "json"], { snapshot: bad })).stdout);
    expect(report).toMatchObject({ kind: "CheckReport", takenAt: sound.takenAt, looks: 1, unread: [] });
    expect(report.items).toContainEqual({
      code: "LeakedAddress",
      severity: "warning",
      object: { kind: "IPAMBlock", name: "10-0-0-4-30" },
      address: "10.0.0.4",
      handle: "k8s-pod-network.web-1",
      sequenceNumber: "999",
      node: "node-b",
      message: "10.0.0.4 is allocated to pod shop/web-1 (handle k8s-pod-network.web-1): pod shop/web-1 does not exist",
      command: "ipamctl gc",
    });
  });

  it("shows every finding in a line with -o wide, and its name with -o name", async () => {
    const wide = rows(await ipamctl(["check", "-o", "wide"], { snapshot: bad }));
    expect(wide).toHaveLength(1 + 9);
    expect(wide[1]!.slice(0, 4)).toEqual(["critical", "InUseNotAllocated", "Pod/shop/thief", "10.0.0.2"]);
    const { stdout } = await ipamctl(["check", "-o", "name"], { snapshot: bad });
    expect(stdout.split("\n")[1]).toBe("LeakedAddress IPAMBlock/10-0-0-4-30 10.0.0.4");
  });
});

describe("--report", () => {
  it("has calicoctl's form: every address, and the handles that nobody needs", async () => {
    const path = scratchFile("report.json");
    const uid = "41cb1fde-57e7-42c0-a73b-0acaf38c7737";
    const ghost = {
      ...handle("Ghost", { "10.0.0.0/30": 1 }),
      metadata: { name: "ghost", uid, resourceVersion: "812" },
    };
    const big = { ...sound.blocks[0]!, spec: { ...sound.blocks[0]!.spec, sequenceNumber: 1767323045678900001n } };
    const numbers = { ...big, spec: { ...big.spec, sequenceNumberForAllocation: { 0: 1767323045678900000n, 1: 1n } } };
    const snapshot = { ...bad, blocks: [numbers, ...sound.blocks.slice(1)], handles: [...sound.handles, ghost] };
    const ran = await ipamctl(["check", "--report", path], { snapshot });
    expect(ran.stderr).toContain(`wrote ${path}`);
    const text = await readFile(path, "utf8");
    const report = parseJson(text) as { allocations: Record<string, unknown[]> };
    expect(report).toMatchObject({
      version: expect.stringMatching(/^v\d/),
      clusterGUID: "0123456789abcdef",
      datastoreLocked: false,
      clusterInformationRevision: "77",
      clusterType: "k8s",
      leakedHandles: [{ ID: "Ghost", UID: uid, Revision: "812" }],
    });
    expect(Object.keys(report.allocations)).toEqual([
      ..."10.0.0.0 10.0.0.1 10.0.0.4 10.0.0.5 10.0.0.6 10.4.0.0 fd00::".split(" "),
    ]);
    expect(report.allocations["10.0.0.0"]).toEqual([
      {
        ip: "10.0.0.0",
        handle: "k8s-pod-network.web-0",
        sequenceNumber: 1767323045678900000n,
        pod: "web-0",
        namespace: "shop",
        node: "node-a",
        creationTimestamp: "2026-01-02 03:04:05 +0000 UTC",
        inUse: true,
        owners: ["Workload(shop/web-0)"],
      },
    ]);
    expect(report.allocations["10.0.0.1"]).toMatchObject([{ type: "vxlanTunnelAddress", owners: ["Node(node-a)"] }]);
    expect(report.allocations["10.0.0.4"]).toMatchObject([{ inUse: false, owners: null }]);
    expect(report.allocations["10.0.0.5"]).toMatchObject([{ borrowed: true, inUse: true }]);
    expect(report.allocations["10.0.0.6"]).toMatchObject([{ coolingDown: true, inUse: false, owners: null }]);
    expect(text).toBe(`${text.trimEnd()}\n`);
    expect(text).toContain('\n  "allocations": {\n    "10.0.0.0": [\n      {\n        "ip": "10.0.0.0",');
  });

  it.each([
    ["41cb1fde-57e7-42c0-a73b-0acaf38c7737", "82d3f87b-eae7-4203-a7dc-5053cf31eeec"],
    ["30316465-6365-4463-ad63-3564622d3638", "0c8c26a6-c6a6-44c6-adc6-ac2646b46c1c"],
  ])("shows the UID %s of a v1 object as Calico does", async (uid, shown) => {
    expect([calicoUid(uid), calicoUid(shown)]).toEqual([shown, uid]);
    const path = scratchFile("v1.json");
    const ghost = { ...handle("ghost", { "10.0.0.0/30": 1 }), metadata: { name: "ghost", uid, resourceVersion: "1" } };
    const snapshot = { ...sound, datastore: "crd.projectcalico.org/v1", handles: [...sound.handles, ghost] };
    await ipamctl(["check", "--report", path], { snapshot });
    expect(JSON.parse(await readFile(path, "utf8")).leakedHandles).toEqual([
      { ID: "ghost", UID: shown, Revision: "1" },
    ]);
  });
});

it("tells by which command an object is mended where it is", async () => {
  const broken = {
    ...sound,
    pools: sound.pools.map((pool) => ({ ...pool, spec: { ...pool.spec, nodeSelector: "a = b" } })),
  };
  const commands = async (datastore: string) => {
    const { stdout } = await ipamctl(["check", "-o", "json"], { snapshot: { ...broken, datastore } });
    return JSON.parse(stdout).items.find(({ code }: { code: string }) => code === "InvalidPool").command;
  };
  expect(await commands("projectcalico.org/v3")).toBe("kubectl edit ippools.projectcalico.org lb");
  expect(await commands("crd.projectcalico.org/v1")).toBe("kubectl edit ippools.crd.projectcalico.org lb");
  expect(await commands("embedded")).toBe('correct IPPool "lb" in its manifest');
});

it("BLK-01: an affinity that lost the race for its block is told of, with its owner", async () => {
  const snapshot = { ...sound, affinities: [...sound.affinities, affinity("node-b", "10.0.0.0/30")] };
  const { items } = JSON.parse((await ipamctl(["check", "-o", "json"], { snapshot })).stdout);
  expect(items).toMatchObject([
    {
      code: "ContradictingAffinity",
      severity: "critical",
      node: "node-b",
      message: expect.stringContaining("host:node-a"),
    },
  ]);
});
