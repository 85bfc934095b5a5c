/** `ipamctl release` by situation. */
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { handle, usedBlock } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { ofPod, pod, sound } from "./sound.ts";
import { rowsOf, siteOf } from "./writing-site.ts";

const without = (...names: string[]) => sound.pods!.filter(({ name }) => !names.includes(name));
const gone: Snapshot = { ...sound, pods: without("web-0", "web-1") };
const json = (...args: string[]) => ["release", ...args, "-o", "json"];

/** What `check` still tells. */
const expectedOf = (leaked: readonly string[]) => leaked.map((address) => `LeakedAddress ${address}`);

describe("an entry that says nothing, left where a CRD dropped the time of a release", () => {
  it("is found by check, and freed by who says so", async () => {
    const address = "10.0.0.2";
    const blocks = sound.blocks.map((block) => {
      const { spec } = block;
      if (spec.cidr !== "10.0.0.0/30") return block;
      const allocations = spec.allocations.with(2, spec.attributes.length);
      const unallocated = spec.unallocated.filter((ordinal) => ordinal !== 2);
      return { ...block, spec: { ...spec, allocations, unallocated, attributes: [...spec.attributes, {}] } };
    });
    const site = await siteOf({ ...sound, blocks });
    expect((await site.findings()).map((found) => `${found.code} ${found.address}`)).toEqual([
      `UnknownOwner ${address}`,
    ]);
    expect(rowsOf(await site.run(json(address, "--even-in-use")))).toEqual([`done release ${address}`]);
    expect(await site.codes()).toEqual([]);
  });
});

describe("which addresses", () => {
  it.each([
    ["an address", ["10.0.0.4"], ["done release 10.0.0.4"]],
    ["addresses", ["10.0.0.4", "fd00:0::0"], ["done release 10.0.0.4", "done release fd00::"]],
    ["calicoctl's flag", ["--ip", "10.0.0.4"], ["done release 10.0.0.4"]],
    ["a handle, wholly", ["--handle", "k8s-pod-network.web-0"], ["done release 10.0.0.0 fd00::"]],
    ["a pod", ["--pod", "shop/web-0"], ["done release 10.0.0.0 fd00::"]],
  ])("by %s", async (_what, args, done) => {
    const site = await siteOf(gone);
    const ran = await site.run(json(...args));
    expect(ran.code).toBe(0);
    expect(rowsOf(ran)).toEqual(done);
    const released = done.flatMap((row) => row.split(" ").slice(2));
    const leaked = ["10.0.0.0", "10.0.0.4", "fd00::"].filter((address) => !released.includes(address));
    expect((await site.findings()).map(({ code, address }) => `${code} ${address}`)).toEqual(expectedOf(leaked));
  });

  it("by a node: what it uses, also of another's block; what is in use stays, and that is no success", async () => {
    const site = await siteOf({ ...sound, pods: without("web-2") });
    const ran = await site.run(json("--node", "node-a"));
    expect(ran.code).toBe(1);
    expect(rowsOf(ran)).toEqual(["done release 10.0.0.5", "kept keep 10.0.0.0 fd00::", "kept keep 10.0.0.1"]);
    expect(JSON.parse(ran.stdout).items[1].why).toBe("Pod shop/web-0 uses it; --even-in-use releases it all the same");
  });

  it("in use, only when that is asked for", async () => {
    const site = await siteOf(sound);
    expect((await site.run(json("10.0.0.4"))).code).toBe(1);
    expect(await site.codes()).toEqual([]);
    const ran = await site.run(json("10.0.0.4", "--even-in-use"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done release 10.0.0.4"]);
    expect(await site.codes()).toEqual(["InUseNotAllocated"]);
  });

  it("a pod that is starting, and shows no address yet, has it all the same", async () => {
    const site = await siteOf({ ...sound, pods: [...without("web-1"), pod("web-1", "node-b", [])] });
    const ran = await site.run(json("10.0.0.4"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, "kept keep 10.0.0.4"]);
  });

  it("nothing of which nobody can say whether it is in use", async () => {
    const site = await siteOf(gone);
    site.around({ pods: undefined as never, unread: [{ part: "pods", reason: "may not list pods" }] });
    const ran = await site.run(json("10.0.0.4"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, "kept keep 10.0.0.4"]);
    expect(ran.stdout).toContain("may not list pods");
  });

  it("nothing that names no owner, where pods are hidden: one of them may have it", async () => {
    const block = usedBlock("10.0.0.8/30", "node-b", { 0: { handle_id: "by-hand" } });
    const byHand = {
      blocks: [...sound.blocks, block],
      handles: [...sound.handles, handle("by-hand", { "10.0.0.8/30": 1 })],
    };
    const site = await siteOf({ ...sound, ...byHand });
    site.around({ pods: undefined as never, unread: [{ part: "pods", reason: "may not list pods" }] });
    const refused = await site.run(json("10.0.0.8"));
    expect([refused.code, ...rowsOf(refused)]).toEqual([1, "kept keep 10.0.0.8"]);
    expect(refused.stdout).toContain("may not list pods");
    site.around({ pods: sound.pods!, unread: [] });
    expect(rowsOf(await site.run(json("10.0.0.8")))).toEqual(["done release 10.0.0.8"]);
  });

  it("never what a Windows host keeps for itself", async () => {
    const reserve = { handle_id: "windows-reserved-ipam-handle", secondary: { note: "windows host rsvd" } };
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, usedBlock("10.0.0.8/30", "node-b", { 0: reserve })],
    });
    const ran = await site.run(json("10.0.0.8", "--even-in-use"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, "kept keep 10.0.0.8"]);
  });

  it.each([
    ["free", ["10.0.0.2"], 0, "is not allocated: nothing to do"],
    ["outside every pool", ["192.0.2.7"], 0, "is not allocated: nothing to do"],
    ["cooling down", ["10.0.0.6"], 0, "was released at 2026-01-02T11:59:00Z and cools down until 2026-01-02T12:04:00Z"],
    ["of no pod", ["--pod", "shop/nobody"], 0, "has no address: nothing to do"],
    ["of no handle", ["--handle", "nobody"], 0, "has no address: nothing to do"],
  ])("%s: says so", async (_what, args, code, why) => {
    const site = await siteOf(sound);
    const ran = await site.run(json(...args));
    expect(ran.code).toBe(code);
    expect(JSON.parse(ran.stdout).items).toMatchObject([{ result: "kept", why }]);
    expect(ran.asked).toEqual([]);
  });

  it.each([
    [[], "in one way"],
    [["10.0.0.4", "--node", "node-a"], "in one way"],
    [["10.0.0.400"], "'10.0.0.400' is not an IP address"],
    [["--pod", "web-0"], "is not NAMESPACE/NAME"],
  ])("%j is a usage error", async (args, message) => {
    const ran = await (await siteOf(sound)).run(["release", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("what changed since it was looked at", () => {
  /** Changes the store while the question is open. */
  const meanwhile = (site: Awaited<ReturnType<typeof siteOf>>, handleID: string) => async () => {
    await site.change(async (store) => {
      const block = await store.get("IPAMBlock", "10-0-0-4-30");
      const [first, ...attributes] = block.spec.attributes;
      const spec = {
        ...block.spec,
        sequenceNumber: 1002n,
        sequenceNumberForAllocation: { 0: 1001n, 1: 999n },
        attributes: [{ ...first!, handle_id: handleID }, ...attributes],
      };
      await store.update({ ...block, spec });
    });
    return "y";
  };

  it.each(["k8s-pod-network.web-1", "k8s-pod-network.other"])(
    "an address that is %s's again is left alone",
    async (id) => {
      const site = await siteOf(gone);
      const ran = await site.run(json("10.0.0.4"), { ask: meanwhile(site, id) });
      expect([ran.code, ...rowsOf(ran)]).toEqual([0, "kept release 10.0.0.4"]);
      expect(ran.stdout).toContain("was allocated again meanwhile");
    },
  );

  it("all or none of a handle", async () => {
    const site = await siteOf(gone);
    const ask = async () => {
      await site.change(async (store) => {
        const block = await store.get("IPAMBlock", "fd00---122");
        await store.update({ ...block, spec: { ...block.spec, sequenceNumberForAllocation: { 0: 998n } } });
      });
      return "y";
    };
    const ran = await site.run(json("--handle", "k8s-pod-network.web-0"), { ask });
    expect(rowsOf(ran)).toEqual(["kept release 10.0.0.0 fd00::"]);
    const { blocks } = await site.snapshot();
    expect(blocks.find(({ spec }) => spec.cidr === "10.0.0.0/30")!.spec).toEqual(sound.blocks[0]!.spec);
  });
});

describe("--from-report", () => {
  const ghosts = [handle("Ghost", { "10.0.0.0/30": 1 }), handle("phantom", { "10.0.0.0/30": 1 })];
  const damaged: Snapshot = {
    ...gone,
    handles: [...gone.handles, ...ghosts],
    clusterInformation: { ...sound.clusterInformation!, guid: "", resourceVersion: "" },
  };
  async function reported() {
    const site = await siteOf(damaged);
    const report = async (name: string) => {
      const path = await scratchFile(`${crypto.randomUUID()}-${name}`);
      await site.run(["check", "--second-look", "0", "--report", path]);
      return path;
    };
    return { site, report };
  }
  const edited = async (path: string, edit: (report: Record<string, unknown>) => void) => {
    const report = JSON.parse(await readFile(path, "utf8"));
    edit(report);
    const copy = `${path}.edited`;
    await writeFile(copy, JSON.stringify(report));
    return copy;
  };

  it("releases what is leaked, and deletes the handles that nobody needs", async () => {
    const { site, report } = await reported();
    const ran = await site.run(json("--from-report", await report("a.json")));
    expect(ran.code).toBe(0);
    expect(rowsOf(ran)).toEqual([
      "done release 10.0.0.0 fd00::",
      "done release 10.0.0.4",
      "done delete IPAMHandle/ghost",
      "done delete IPAMHandle/phantom",
    ]);
    expect(await site.codes()).toEqual([]);
  });

  it("of several only what all of them have, and what is leaked still", async () => {
    const { site, report } = await reported();
    const first = await report("a.json");
    site.around({ pods: without("web-1") });
    await site.change(async (store) => {
      const ghost = await store.get("IPAMHandle", "ghost");
      await store.update({ ...ghost, spec: { ...ghost.spec, block: { "10.0.0.0/30": 2 } } });
    });
    const ran = await site.run(json("--from-report", first, await report("b.json")));
    expect(rowsOf(ran)).toEqual(["done release 10.0.0.4", "done delete IPAMHandle/phantom"]);
    site.around({ pods: [] });
    const again = await site.run(json("--from-report", first));
    expect(rowsOf(again)).toEqual([
      "done release 10.0.0.0 fd00::",
      "kept keep 10.0.0.4",
      "kept keep IPAMHandle/ghost",
      "kept keep IPAMHandle/phantom",
    ]);
    expect(again.stdout).toContain("was cleaned up since the report");
    expect(again.stdout).toContain("was changed since the report");
  });

  it("what is in use again is left alone", async () => {
    const { site, report } = await reported();
    const path = await report("a.json");
    site.around({ pods: sound.pods! });
    const ran = await site.run(json("--from-report", path));
    expect(rowsOf(ran).slice(-3)).toEqual(["kept keep 10.0.0.0", "kept keep 10.0.0.4", "kept keep fd00::"]);
  });

  it.each<[string, (report: Record<string, unknown>) => void, string]>([
    [
      "another cluster",
      (report) => {
        report["clusterGUID"] = "other";
      },
      "is of the cluster other",
    ],
    [
      "before the lock",
      (report) => {
        report["clusterInformationRevision"] = "1";
      },
      "none of the reports was made since",
    ],
    [
      "another version",
      (report) => {
        report["version"] = "v3.32.0";
      },
      "--force takes it all the same",
    ],
    [
      "no allocations",
      (report) => {
        delete report["allocations"];
      },
      "is no report of",
    ],
  ])("a report of %s is refused", async (_what, edit, message) => {
    const { site, report } = await reported();
    const path = await edited(await report("a.json"), edit);
    const ran = await site.run(json("--from-report", path));
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
    expect(await site.codes()).not.toEqual([]);
  });

  it("one of another version is taken with --force, and that is said", async () => {
    const { site, report } = await reported();
    const path = await edited(await report("a.json"), (text) => {
      text["version"] = "v3.32.0";
    });
    const ran = await site.run(json("--from-report", path, "--force"));
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("was written by version v3.32.0") });
    expect(await site.codes()).toEqual([]);
  });

  it.each([["nowhere.json", "cannot be read"]])("%s", async (path, message) => {
    const { site } = await reported();
    expect(await site.run(json("--from-report", path))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    });
  });
});

it("an address of the embedded store, which has no pods around it", async () => {
  const site = await siteOf({
    ...sound,
    blocks: [...sound.blocks, usedBlock("10.0.0.8/30", "node-b", { 0: ofPod("x", "node-b") })],
  });
  site.around({ pods: undefined as never, nodes: undefined as never, services: undefined as never });
  expect(rowsOf(await site.run(json("10.0.0.8")))).toEqual(["done release 10.0.0.8"]);
});
