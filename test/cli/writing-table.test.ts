/** Every writing verb by situation: exit code, what stands on standard output, what is said beside it. */
import { describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, handle, pool, usedBlock } from "../support/ipam-data.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { node, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const ofPod = (name: string, on: string) => ({
  handle_id: `k8s-pod-network.${name}`,
  secondary: { namespace: "default", pod: name, node: on },
});

/** What the help's examples speak of: a pod and a node that are gone, an orphan, a dangling affinity, one assigned by hand. */
const troubled: Snapshot = {
  ...emptySnapshot("2026-01-02T12:00:00.000Z"),
  pools: [pool("default-ipv4-ippool", "10.0.0.0/24", { blockSize: 28 })],
  configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true })],
  blocks: [
    usedBlock("10.0.0.0/28", "node-1", {
      0: ofPod("web-0", "node-1"),
      1: ofPod("web-1", "node-1"),
      2: { handle_id: "by-hand", secondary: { node: "node-1" } },
    }),
    usedBlock("10.0.0.16/28", "node-9", { 0: ofPod("web-9", "node-9") }),
  ],
  affinities: [
    affinity("node-1", "10.0.0.0/28"),
    affinity("node-9", "10.0.0.16/28"),
    affinity("node-1", "10.0.0.32/28"),
  ],
  handles: [
    ...["web-0", "web-1"].map((name) => handle(`k8s-pod-network.${name}`, { "10.0.0.0/28": 1 })),
    handle("k8s-pod-network.web-9", { "10.0.0.16/28": 1 }),
    handle("by-hand", { "10.0.0.0/28": 1 }),
    handle("ghost", { "10.0.0.0/28": 1 }),
  ],
  nodes: [node("node-1")],
  namespaces: [],
  pods: [],
  services: [],
  clusterInformation: { ...sound.clusterInformation!, guid: "", resourceVersion: "" },
  controllers: {},
  events: [],
};

interface VerbRow {
  readonly verb: string;
  /** A call that has something to do. */
  readonly args: readonly string[];
  readonly kind: string;
  readonly done: readonly string[];
  /** A call that has nothing to do, or may not, and its exit code. */
  readonly idle: readonly [args: readonly string[], code: number, result: string];
  /** A call that cannot be meant. */
  readonly misused: readonly string[];
}

const TABLE: readonly VerbRow[] = [
  {
    verb: "release",
    args: ["10.0.0.1"],
    kind: "Release",
    done: ["done release 10.0.0.1"],
    idle: [["10.0.0.9"], 0, "kept keep 10.0.0.9"],
    misused: ["nonsense"],
  },
  {
    verb: "configure",
    args: ["--strict-affinity", "true"],
    kind: "Configure",
    done: ["done set IPAMConfiguration/default"],
    idle: [["--strict-affinity", "false"], 0, "kept set IPAMConfiguration/default"],
    misused: ["--strict-affinity", "nonsense"],
  },
  {
    verb: "assign",
    args: ["10.0.0.9", "--node", "node-1"],
    kind: "Assign",
    done: ["done assign 10.0.0.9"],
    idle: [["10.0.0.1", "--node", "node-1"], 1, "kept assign 10.0.0.1"],
    misused: ["nonsense", "--node", "node-1"],
  },
  {
    verb: "gc",
    args: ["--grace", "0"],
    kind: "Collection",
    done: ["done release 10.0.0.0", "done release 10.0.0.1", "done release 10.0.0.16", "done delete IPAMHandle/ghost"],
    idle: [["--grace", "0"], 0, ""],
    misused: ["--grace", "nonsense"],
  },
  {
    verb: "repair",
    args: ["DanglingAffinity", "--grace", "0"],
    kind: "Repair",
    done: ["done mend BlockAffinity/node-1-10-0-0-32-28"],
    idle: [["FreeTwice", "--grace", "0"], 0, ""],
    misused: ["nonsense"],
  },
  {
    verb: "split",
    args: ["2", "--name", "default-ipv4-ippool"],
    kind: "Split",
    done: [
      "disable IPPool/default-ipv4-ippool",
      "create IPPool/split-default-ipv4-ippool-0",
      "create IPPool/split-default-ipv4-ippool-1",
      "delete IPPool/default-ipv4-ippool",
    ].map((row) => `done ${row}`),
    idle: [["2", "--name", "nowhere"], 1, "error"],
    misused: ["nonsense", "--name", "default-ipv4-ippool"],
  },
];

/** The copy of a repair goes into a folder of the test's. */
const callOf = async (verb: string, args: readonly string[]) => [
  verb,
  ...args,
  ...(verb === "repair" ? ["--copy", await scratchFile(`${crypto.randomUUID()}.jsonl`)] : []),
];

it("has every verb that writes", () => {
  const writing = VERBS.filter(({ flags }) => flags.some((flag) => flag.flags === "--dry-run")).map(({ name }) => name);
  expect(TABLE.map(({ verb }) => verb).sort()).toEqual(writing.sort());
});

describe.each(TABLE)("$verb", ({ verb, args, kind, done, idle, misused }) => {
  const onSite = async (work: (site: Site, call: readonly string[]) => Promise<void>) =>
    work(await siteOf(troubled), [...(await callOf(verb, args)), "-o", "json"]);
  const unchanged = async (site: Site, run: () => Promise<unknown>) => {
    const before = await site.snapshot();
    await run();
    expect(await site.snapshot()).toEqual(before);
  };

  it("asked and told yes: 0, what was done on standard output, counts beside it", () =>
    onSite(async (site, call) => {
      const ran = await site.run(call);
      expect(ran.asked).toHaveLength(1);
      expect(ran.code).toBe(0);
      expect(JSON.parse(ran.stdout)).toMatchObject({ apiVersion: "ipamctl.ipam-operator.io/v1alpha1", kind });
      expect(rowsOf(ran).filter((row) => !row.startsWith("kept"))).toEqual(done);
      expect(ran.stderr).toMatch(new RegExp(`^${done.length} done`, "m"));
    }));

  it("told no: 1, nothing on standard output, nothing changed", () =>
    onSite((site, call) =>
      unchanged(site, async () => {
        const ran = await site.run(call, { ask: async () => "n" });
        expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("nothing was changed") });
      }),
    ));

  it("without a terminal: 2, and nothing looked at", () =>
    onSite((site, call) =>
      unchanged(site, async () => {
        const ran = await site.run(call, { ask: undefined, take: () => Promise.reject(new Error("looked")) });
        expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("--yes") });
      }),
    ));

  it("--dry-run: 0, what would be done, nothing changed", () =>
    onSite((site, call) =>
      unchanged(site, async () => {
        const ran = await site.run([...call, "--dry-run"], { ask: undefined });
        expect(ran.code).toBe(0);
        const planned = rowsOf(ran).filter((row) => row.startsWith("planned"));
        expect(planned.map((row) => row.replace("planned", "done"))).toEqual(done);
      }),
    ));

  it("-o name: what was done, a line each", () =>
    onSite(async (site, call) => {
      const { stdout } = await site.run([...call.slice(0, -1), "name", "--yes"]);
      expect(stdout.trimEnd().split("\n")).toEqual(done.map((row) => row.split(" ").slice(2).join(" ")));
    }));

  it("Ctrl-C before anything is done: 130, nothing changed", () =>
    onSite((site, call) =>
      unchanged(site, async () => {
        const signal = AbortSignal.abort(new Error("interrupted"));
        const stderr = expect.stringMatching(/nothing was changed\nipamctl: stopped\n$/);
        expect(await site.run([...call, "--yes"], { signal })).toMatchObject({ code: 130, stdout: "", stderr });
      }),
    ));

  it("nothing to do, or not possible: nobody is asked", async () => {
    const site = await siteOf(
      verb === "gc"
        ? { ...sound, blocks: [], affinities: [], handles: [], pods: [], services: [], nodes: [] }
        : troubled,
    );
    const [call, code, result] = idle;
    const ran = await site.run([...(await callOf(verb, call)), "-o", "json"]);
    expect([ran.code, ran.asked]).toEqual([code, []]);
    if (result === "error") expect(ran).toMatchObject({ stdout: "", stderr: expect.stringMatching(/^ipamctl: /) });
    else expect(rowsOf(ran).join()).toBe(result);
  });

  it.each([
    ["what cannot be meant", [...misused], "nonsense"],
    ["a flag that there is not", [...args, "--dryrun"], "Did you mean --dry-run?"],
  ])("%s: 2, and what is wrong", async (_what, call, message) => {
    const ran = await (await siteOf(troubled)).run([verb, ...call]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  it.each([
    ["a bundle", ["--bundle", "ipam.bundle"], "a bundle is a copy"],
    ["no place", [], "no cluster is named"],
    ["a store that is not there", ["--datastore", "embedded:/nonexistent.db"], "there is no such file"],
  ])("%s: 2", async (_what, place, message) => {
    const ran = await ipamctl([verb, ...args, "--yes", ...place]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("the examples of the help", () => {
  const all = TABLE.flatMap(({ verb }) => VERBS.find(({ name }) => name === verb)!.examples);

  /** Files of an example are real ones, and nobody waits for a minute. */
  async function realised(site: Site, command: string): Promise<string[]> {
    const grace = /^(gc|repair \w)/.test(command) ? ["--grace", "0"] : [];
    const words = command
      .replace(/--grace \d+/, "")
      .split(/ +/)
      .filter((word) => word !== "");
    const files = await Promise.all(words.map((word) => (/\.jsonl?$/.test(word) ? fileFor(site, word) : word)));
    return callOf(files[0]!, [...files.slice(1), ...grace]);
  }

  async function fileFor(site: Site, name: string): Promise<string> {
    const path = await scratchFile(`${crypto.randomUUID()}-${name}`);
    if (name.endsWith(".jsonl"))
      await site.run(["repair", "DanglingAffinity", "--grace", "0", "--copy", path, "--yes"]);
    else await site.run(["check", "--second-look", "0", "--report", path]);
    return path;
  }

  it.each(all)("$command", async ({ command }) => {
    const installation = command.includes("--installation");
    const site = await siteOf(troubled);
    if (installation) {
      const spec = { managementPolicy: "Enforce" as const, ipam: { strictAffinity: true } };
      const metadata = { name: "default" };
      await site.change((store) =>
        store.create({ apiVersion: "ipam-operator.io/v1alpha1", kind: "Installation", metadata, spec }),
      );
    }
    const ran = await site.run(await realised(site, command));
    expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  });
});
