/** `ipamctl repair` by situation; that it mends every code is shown in mends.test.ts. */
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { MENDERS } from "../../src/cli/repair/menders.ts";
import { CODES } from "../../src/judgement/codes.ts";
import { drain, repair } from "../../src/judgement/mend.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, handle, usedBlock } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { emptyBlock, ofPod, pod, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const ghosts = (count: number): Snapshot => ({
  ...sound,
  handles: [...sound.handles, ...Array.from({ length: count }, (_, at) => handle(`ghost-${at}`, { "10.0.0.0/30": 1 }))],
});
const copyFile = async () => scratchFile(`${crypto.randomUUID()}.jsonl`);
const mend = async (site: Site, code: string, ...args: string[]) => {
  const copy = await copyFile();
  const ran = await site.run(["repair", code, "--grace", "0", "--copy", copy, "-o", "json", ...args]);
  return { ...ran, copy };
};

it("mends exactly the codes whose mend it is", () => {
  const codes = Object.entries(CODES).flatMap(([code, row]) =>
    row.mend === repair || row.mend === drain ? [code] : [],
  );
  expect(Object.keys(MENDERS).sort()).toEqual(codes.sort());
});

describe("the plan", () => {
  it("is asked about; --dry-run looks once, says so, and changes nothing", async () => {
    const site = await siteOf(ghosts(1));
    const before = await site.snapshot();
    const dry = await site.run(["repair", "orphanhandle", "--dry-run", "-o", "json"], { ask: undefined });
    expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining("looked once") });
    expect(rowsOf(dry)).toEqual(["planned mend IPAMHandle/ghost-0"]);
    expect(await site.snapshot()).toEqual(before);
    const ran = await mend(site, "OrphanHandle");
    expect(ran.asked).toEqual(["Repair OrphanHandle of 1 object? [y/N] "]);
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done mend IPAMHandle/ghost-0"]);
    expect(ran.stderr).toContain("looking again in 0 s");
    expect(ran.stderr).toContain(`to undo: ipamctl repair --restore ${ran.copy}`);
  });

  it("holds at most 100 objects, unless all are asked for", async () => {
    const site = await siteOf(ghosts(130));
    const ran = await mend(site, "OrphanHandle");
    expect(ran.stderr).toContain("the first 100 of 130 objects");
    expect(JSON.parse(ran.stdout).counts).toEqual({ done: 100 });
    expect((await site.findings()).length).toBe(30);
    expect(JSON.parse((await mend(site, "OrphanHandle", "--all")).stdout).counts).toEqual({ done: 30 });
    expect(await site.codes()).toEqual([]);
  });

  it("is empty where nothing is found, and then nobody waits", async () => {
    const site = await siteOf(sound);
    const ran = await site.run(["repair", "OrphanHandle", "-o", "json"]);
    expect(ran).toMatchObject({ code: 0, asked: [], stderr: "nothing to do\n" });
  });

  it.each([
    [[], "name the code to mend"],
    [["OrphanHandle", "--restore", "x"], "name the code to mend"],
    [["OrphanHandel"], "did you mean OrphanHandle?"],
    [["LeakedAddress"], "LeakedAddress is not mended by repair. `ipamctl gc` frees it"],
    [["InvalidPool"], "Correct the object by hand"],
    [["OrphanHandle", "--grace", "soon"], "--grace 'soon'"],
  ])("%j is a usage error", async (args, message) => {
    const ran = await (await siteOf(sound)).run(["repair", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("what changed since it was looked at is left alone", () => {
  const changing = (site: Site, name: string) => async () => {
    await site.change(async (store) => {
      const ghost = await store.get("IPAMHandle", name);
      await store.update({ ...ghost, spec: { ...ghost.spec, block: { "10.0.0.0/30": 2 } } });
    });
    return "y";
  };

  it("a handle", async () => {
    const site = await siteOf(ghosts(2));
    const ran = await site.run(["repair", "OrphanHandle", "--grace", "0", "--copy", await copyFile(), "-o", "json"], {
      ask: changing(site, "ghost-0"),
    });
    expect(rowsOf(ran)).toEqual(["kept mend IPAMHandle/ghost-0", "done mend IPAMHandle/ghost-1"]);
  });

  it("an affinity whose block was claimed", async () => {
    const site = await siteOf({ ...sound, affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30")] });
    const ask = async () => {
      await site.change((store) => store.create({ ...emptyBlock("10.0.0.8/30", "node-a"), kind: "IPAMBlock" }));
      return "y";
    };
    const args = ["repair", "DanglingAffinity", "--grace", "0", "--copy", await copyFile(), "-o", "json"];
    expect(rowsOf(await site.run(args, { ask }))).toEqual(["kept mend BlockAffinity/node-a-10-0-0-8-30"]);
    expect(await site.codes()).toEqual([]);
  });

  it("an affinity that was made anew between the two looks", async () => {
    const site = await siteOf({ ...sound, affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30")] });
    let changing: Promise<void> | undefined;
    const write = (text: string) => {
      if (!text.startsWith("looking again in 1 s")) return;
      changing = site.change(async (store) => {
        await store.delete(await store.get("BlockAffinity", "node-a-10-0-0-8-30"));
        await store.create({ ...affinity("node-a", "10.0.0.8/30"), kind: "BlockAffinity" });
      });
    };
    const args = ["repair", "DanglingAffinity", "--grace", "1", "--copy", await copyFile(), "-o", "json"];
    const ran = await site.run(args, { stderr: { write } });
    await changing;
    expect(rowsOf(ran)).toEqual(["kept mend BlockAffinity/node-a-10-0-0-8-30"]);
    expect(ran.stdout).toContain("was changed between the two looks");
  });

  it("a block that was made anew", async () => {
    const first = sound.blocks[0]!;
    const twice = { ...first, spec: { ...first.spec, unallocated: [2, 3, 2] } };
    const site = await siteOf({ ...sound, blocks: [twice, ...sound.blocks.slice(1)] });
    const ask = async () => {
      await site.change(async (store) => {
        await store.delete(await store.get("IPAMBlock", "10-0-0-0-30"));
        await store.create({ ...first, kind: "IPAMBlock" });
      });
      return "y";
    };
    const args = ["repair", "FreeTwice", "--grace", "0", "--copy", await copyFile(), "-o", "json"];
    expect(rowsOf(await site.run(args, { ask }))).toEqual(["kept mend IPAMBlock/10-0-0-0-30"]);
  });

  it("a block that others write meanwhile is mended as it is then", async () => {
    const first = sound.blocks[0]!;
    const twice = { ...first, spec: { ...first.spec, unallocated: [2, 3, 2] } };
    const site = await siteOf({ ...sound, blocks: [twice, ...sound.blocks.slice(1)] });
    const ask = async () => {
      await site.change(async (store) => {
        const block = await store.get("IPAMBlock", "10-0-0-0-30");
        await store.update({ ...block, spec: { ...block.spec, sequenceNumber: 2000n } });
      });
      return "y";
    };
    const args = ["repair", "FreeTwice", "--grace", "0", "--copy", await copyFile(), "-o", "json"];
    expect(rowsOf(await site.run(args, { ask }))).toEqual(["done mend IPAMBlock/10-0-0-0-30"]);
    const { spec } = (await site.snapshot()).blocks[0]!;
    expect([spec.unallocated, spec.sequenceNumber]).toEqual([[2, 3], 2001n]);
  });
});

describe("what cannot be mended is said", () => {
  it("an address that somebody has is not freed, whatever its entry", async () => {
    const second = sound.blocks[1]!;
    const spec = { ...second.spec, allocations: [0, 1, 9, null], attributes: second.spec.attributes.slice(0, 2) };
    const site = await siteOf({
      ...sound,
      blocks: [sound.blocks[0]!, { ...second, spec }, ...sound.blocks.slice(2)],
      pods: [...sound.pods!, pod("user", "node-b", ["10.0.0.6"])],
    });
    const ran = await mend(site, "AllocationPointsNowhere");
    expect(rowsOf(ran)).toEqual(["kept mend IPAMBlock/10-0-0-4-30"]);
    expect(ran.stdout).toContain("in use");
  });

  it("a block of a gone node that holds addresses", async () => {
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, usedBlock("10.0.0.8/30", "node-z", { 0: ofPod("x", "node-z") })],
      affinities: [...sound.affinities, affinity("node-z", "10.0.0.8/30")],
    });
    const ran = await mend(site, "AffinityOfGoneNode");
    expect(rowsOf(ran)).toEqual(["kept mend BlockAffinity/node-z-10-0-0-8-30"]);
    expect(ran.stdout).toContain("ipamctl release --node node-z");
  });
});

describe("the copy", () => {
  it("does not stay where nothing was changed", async () => {
    const site = await siteOf(ghosts(1));
    const copy = await copyFile();
    const ran = await site.run(["repair", "OrphanHandle", "--grace", "0", "--copy", copy], { ask: async () => "no" });
    expect(ran).toMatchObject({ code: 1, stderr: expect.not.stringContaining("to undo") });
    await expect(readFile(copy)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("puts everything back as it was", async () => {
    const first = sound.blocks[0]!;
    const site = await siteOf({
      ...ghosts(2),
      blocks: [{ ...first, spec: { ...first.spec, unallocated: [2, 3, 2] } }, ...sound.blocks.slice(1)],
      affinities: sound.affinities.filter(({ spec }) => spec.node !== "node-b"),
    });
    const before = await site.snapshot();
    const specs = ({ blocks, handles, affinities }: Snapshot) =>
      [...blocks, ...handles, ...affinities].map(({ metadata: { name, labels }, spec }) => ({ name, labels, spec }));
    for (const code of ["OrphanHandle", "FreeTwice", "BlockWithoutAffinity"]) {
      const { copy } = await mend(site, code);
      expect(await site.codes()).not.toContain(code);
      const back = await site.run(["repair", "--restore", copy, "--yes", "-o", "json"]);
      expect([back.code, JSON.parse(back.stdout).counts]).toEqual([0, { done: code === "OrphanHandle" ? 2 : 1 }]);
      expect(specs(await site.snapshot())).toEqual(specs(before));
    }
  });

  it("puts nothing back over what others wrote since", async () => {
    const site = await siteOf(ghosts(2));
    const { copy } = await mend(site, "OrphanHandle");
    await site.change((store) => store.create({ ...handle("ghost-0", { "10.0.0.0/30": 7 }), kind: "IPAMHandle" }));
    const back = await site.run(["repair", "--restore", copy, "--yes", "-o", "json"]);
    expect(rowsOf(back).sort()).toEqual(["done create IPAMHandle/ghost-1", "kept create IPAMHandle/ghost-0"]);
    const { handles } = await site.snapshot();
    expect(handles.find(({ spec }) => spec.handleID === "ghost-0")!.spec.block).toEqual({ "10.0.0.0/30": 7 });
  });

  it("says of a write that it was cut off at whether it was done", async () => {
    const site = await siteOf(ghosts(1));
    const { copy } = await mend(site, "OrphanHandle");
    const lines = (await readFile(copy, "utf8")).trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    await writeFile(copy, `${lines.slice(0, 2).join("\n")}\n`);
    const back = await site.run(["repair", "--restore", copy, "--yes", "-o", "json"]);
    expect(rowsOf(back)).toEqual(["kept restore IPAMHandle/ghost-0"]);
  });

  it("is never written over another file: nothing is changed then", async () => {
    const site = await siteOf(ghosts(1));
    const copy = await copyFile();
    await writeFile(copy, "precious");
    const ran = await site.run(["repair", "OrphanHandle", "--grace", "0", "--copy", copy, "-o", "json"]);
    expect(ran).toMatchObject({ code: 1, stdout: "", asked: [] }); // told before anything is looked at, or asked
    expect(ran.stderr).toContain(`${copy} cannot be written`);
    expect(ran.stderr).not.toContain("to undo");
    expect(await readFile(copy, "utf8")).toBe("precious");
    expect(await site.codes()).toEqual(["OrphanHandle"]);
  });

  it.each([
    ["precious", "is no copy of"],
    ['{"copy":"ipam-operator.io/v1alpha1"}\n{"kind":', "line 2: is not whole"],
  ])("%j is refused", async (text, message) => {
    const path = await copyFile();
    await writeFile(path, text);
    const ran = await (await siteOf(sound)).run(["repair", "--restore", path, "--yes"]);
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
  });
});
