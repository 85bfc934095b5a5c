/** `ipamctl top` by situation. */
import { describe, expect, it } from "vitest";
import { pool, usedBlock } from "../support/ipam-data.ts";
import { bundleOf, ipamctl, rows } from "./ipamctl.ts";
import { ofPod, sound } from "./sound.ts";

const yesterday = {
  ...sound,
  takenAt: "2026-01-01T12:00:00.000Z",
  blocks: [usedBlock("10.0.0.0/30", "node-a", { 0: ofPod("web-0", "node-a") }), ...sound.blocks.slice(1)],
};
const top = async (...flags: string[]) =>
  JSON.parse((await ipamctl(["top", ...flags, "-o", "json"], { snapshot: sound })).stdout);

describe("one look", () => {
  it("shows the fullest first, and says what the rates rest on", async () => {
    const ran = await ipamctl(["top"], { snapshot: sound });
    const notFree = "not free: p4 4 in use + 1 cooling down + 1 reserved\n";
    const said = "rates: of addresses held now, allocated in the last 24 h; what was released is not seen\n";
    expect(ran).toMatchObject({ code: 0, stderr: notFree + said });
    const [pools, nodes] = ran.stdout.split("\n\n").map((stdout) => rows({ ...ran, stdout }));
    expect(pools!.slice(1).map(([name, , full]) => [name, full])).toEqual([
      ["p4", "38%"],
      ["lb", "12%"],
      ["p6", "<1%"],
    ]);
    expect(nodes!.slice(1)).toEqual([
      ["node-b", "1/20", "1 (25%)", "0"],
      ["node-a", "1/20", "65 (96%)", "1"],
    ]);
  });

  it("a pool that is full runs out now, whatever its rate", async () => {
    const all = { 0: ofPod("a", "node-a"), 1: ofPod("b", "node-a"), 2: ofPod("c", "node-a"), 3: ofPod("d", "node-a") };
    const full = { ...sound, pools: [pool("p", "10.0.0.0/30", { blockSize: 30 })] };
    const ran = await ipamctl(["top"], { snapshot: { ...full, blocks: [usedBlock("10.0.0.0/30", "node-a", all)] } });
    expect(rows(ran)[1]).toEqual(["p", "10.0.0.0/30", "100%", "0 (0%)", "4", "now"]);
  });

  it("--limit shows so many nodes", async () => {
    expect((await top("--limit", "1")).nodes).toHaveLength(1);
    expect((await top("--limit", "0")).nodes).toHaveLength(2);
  });
});

describe("a forecast from allocation times", () => {
  const rateOf = async (name: string, ...flags: string[]) => {
    const { pools } = await top(...flags);
    return pools.find((row: { name: string }) => row.name === name).rate;
  };

  it("counts what is held and was allocated within the span", async () => {
    expect(await rateOf("p4")).toEqual({
      basis: "allocation times",
      overSeconds: 86_400,
      perDay: 3,
      runsOutAt: "2026-01-05T20:00:00.000Z",
    });
    expect(await rateOf("p4", "--hours", "8")).toEqual({ basis: "allocation times", overSeconds: 28_800, perDay: 0 });
  });

  it("a pool that would be full in more than ten years is not foretold", async () => {
    expect(await rateOf("p6", "--hours", "9000")).not.toHaveProperty("runsOutAt");
  });
});

describe("a forecast from two looks", () => {
  const found = async (earlier: Parameters<typeof bundleOf>[0]) => {
    const { pools } = await top("--earlier", await bundleOf(earlier));
    return pools.find(({ name }: { name: string }) => name === "p4");
  };

  it("is linear between two looks", async () => {
    expect(await found(yesterday)).toMatchObject({
      rate: { basis: "two looks", perDay: 1, runsOutAt: "2026-01-12T12:00:00.000Z" },
    });
  });

  it("there is none where what is free does not shrink, or no time has passed", async () => {
    const fuller = {
      ...yesterday,
      pools: sound.pools,
      blocks: [
        usedBlock("10.0.0.8/30", "node-a", { 0: ofPod("x", "node-a"), 1: ofPod("y", "node-a") }),
        ...sound.blocks,
      ],
    };
    expect(await found(fuller)).toMatchObject({ rate: { perDay: -2 } });
    expect((await found(fuller)).rate).not.toHaveProperty("runsOutAt");
    expect(await found(sound)).not.toHaveProperty("rate");
  });

  it("takes two looks where it is asked to", async () => {
    const ran = await ipamctl(["top", "--over", "0", "-o", "json"], { stored: sound });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^looking again in 0 s\n/) });
  });
});

it.each([
  [["--over", "5"], /a bundle never changes/],
  [["--over", "5", "--earlier", "x"], /exclude each other/],
  [["--limit", "many"], /'many' is no whole number/],
  [["--hours", "0"], /no span/],
])("top %j is refused", async (flags, message) => {
  const ran = await ipamctl(["top", ...flags], { snapshot: sound });
  expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
});

it("gives names, YAML, and wide tables", async () => {
  const run = (format: string) => ipamctl(["top", "-o", format], { snapshot: sound });
  expect((await run("name")).stdout).toBe("ippool/p4\nippool/lb\nippool/p6\nnode/node-b\nnode/node-a\n");
  expect((await run("yaml")).stdout).toContain("kind: Top\npools:\n  - name: p4\n");
  const wide = (await run("wide")).stdout;
  expect(wide).toMatch(/^POOL .* RATE FROM$/m);
  expect(wide).toMatch(/^node-b .* 110$/m);
});
