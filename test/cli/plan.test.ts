/** `ipamctl plan` by situation: from nothing, and on data with what manifests propose. */
import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { ipamctl, rows, scratchFile, storeOf } from "./ipamctl.ts";
import { node, sound } from "./sound.ts";

const planned = async (args: readonly string[], snapshot?: Snapshot) => {
  const ran = await ipamctl(["plan", ...args, "-o", "json"], snapshot ? { snapshot } : {});
  return { ...JSON.parse(ran.stdout || "{}"), code: ran.code, stderr: ran.stderr };
};
async function manifest(text: string): Promise<string> {
  const path = scratchFile("proposal.yaml");
  await writeFile(path, text);
  return path;
}
const installation = (ipam: string, policy = "Enforce") =>
  manifest(`apiVersion: ipam-operator.io/v1alpha1
kind: Installation
metadata: {name: default}
spec: {managementPolicy: ${policy}, ipam: ${ipam}}
`);
const pool = (spec: string, name = "more") =>
  manifest(`{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: ${name}}, spec: ${spec}}`);

describe("from nothing", () => {
  it("says how many nodes a pool carries, and what the first one without lacks", async () => {
    const found = await planned(["--cidr", "10.0.0.0/24", "--block-size", "28", "--pods-per-node", "30"]);
    expect(found).toMatchObject({ kind: "Plan", code: 0, untilFull: true });
    expect(found.planned).toMatchObject({
      nodes: 8,
      fullNodes: 8,
      placed: 240,
      limitOfBlocks: 20,
      mostBlocksOfANode: 2,
    });
    expect(found.planned.first).toMatchObject({
      node: "node-9",
      family: "IPv4",
      got: 16,
      wants: 30,
      cause: { code: "PoolExhausted" },
    });
  });

  it("borrowing makes use of what is left over, and strict affinity does not", async () => {
    const asked = ["--cidr", "10.0.0.0/26", "--block-size", "28", "--pods-per-node", "20", "--nodes", "3"];
    expect((await planned(asked)).planned).toMatchObject({ fullNodes: 3, placed: 60 });
    const strict = await planned([...asked, "--strict-affinity", "true"]);
    expect(strict.code).toBe(3);
    expect(strict.planned).toMatchObject({ fullNodes: 2, placed: 40, first: { cause: { code: "StrictAffinity" } } });
  });

  it.each([
    [["--max-blocks-per-host", "2", "--strict-affinity", "true"], 33, "BlockCapReached"],
    [["--cooldown", "60", "--restarts", "20"], 40, "PoolExhausted"],
  ])("%j takes away what carried 5 nodes of %i pods", async (flags, pods, cause) => {
    const asked = ["--cidr", "10.0.0.0/24", "--block-size", "28", "--nodes", "5", "--pods-per-node", String(pods)];
    expect((await planned(asked)).planned).toMatchObject({ fullNodes: 5, wanted: 5 * pods });
    const { planned: short, code } = await planned([...asked, ...flags]);
    expect([code, short.first.cause.code]).toEqual([3, cause]);
  });

  it("plans both families, each for itself", async () => {
    const asked = ["--cidr", "10.0.0.0/26", "fd00::/112", "--nodes", "2", "--pods-per-node", "60"];
    const { planned: found } = await planned(asked);
    expect(found).toMatchObject({ fullNodes: 1, first: { node: "node-2", family: "IPv4", got: 4 } });
    expect(found.pools.map(({ cidr }: { cidr: string }) => cidr)).toEqual(["10.0.0.0/26", "fd00::/112"]);
  });

  it("tells a person in sentences", async () => {
    const ran = await ipamctl(["plan", "--cidr", "10.0.0.0/27", "--block-size", "28", "--pods-per-node", "16"]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout.split("\n").slice(0, 2)).toEqual([
      "carries 2 nodes in full: 32 addresses",
      expect.stringMatching(/^runs out first on node-3, with 0 of 16 IPv4 addresses: .*\(PoolExhausted\)$/),
    ]);
    const table = { ...ran, stdout: ran.stdout.split("\n\n")[1]! };
    expect(rows(table)[1]).toEqual(["pool-1", "10.0.0.0/27", "2 of /28", "0 (0%)"]);
    const names = await ipamctl(["plan", "--cidr", "10.0.0.0/27", "--block-size", "28", "-o", "name"]);
    expect(names.stdout).toBe("node-1 PoolExhausted\n");
  });

  it("an invalid configuration carries nothing", async () => {
    const { planned: found } = await planned(["--cidr", "10.0.0.0/24", "--max-blocks-per-host", "2", "--nodes", "1"]);
    expect(found).toMatchObject({ placed: 0, first: { cause: { code: "InvalidConfiguration" } } });
  });
});

describe("on the data", () => {
  const asked = ["--pods-per-node", "5"];

  it("fills the nodes that there are, on top of what they hold", async () => {
    const v4 = { ...sound, pods: sound.pods!.filter(({ name }) => name !== "web-0") };
    const found = await planned(asked, v4);
    expect(found).toMatchObject({ changes: [], brings: [], planned: { nodes: 2, fullNodes: 2, wanted: 10 } });
    expect(found).not.toHaveProperty("now");
  });

  it("compares a proposed pool with what is so now", async () => {
    const file = await pool("{cidr: 10.8.0.0/28, blockSize: 30}");
    const found = await planned(["-f", file, "--nodes", "4", ...asked], sound);
    expect(found.changes).toEqual(['IPPool "more" is new']);
    expect([found.now.fullNodes, found.planned.fullNodes, found.code]).toEqual([2, 4, 0]);
    expect(found.now.first).toMatchObject({ node: "planned-node-1", family: "IPv4", cause: { code: "PoolExhausted" } });
    const ran = await ipamctl(["plan", "-f", file, "--nodes", "4", ...asked], { snapshot: sound });
    expect(ran.stdout).toContain("now it carries 2 of 4 nodes in full");
    expect(ran.stdout).toMatch(/^POOL .* FREE THEN +FREE WITHOUT$/m);
  });

  it("names the findings that an Installation would bring", async () => {
    const file = await installation("{strictAffinity: true, maxBlocksPerHost: 1}");
    const found = await planned(["-f", file, "--pods-per-node", "4"], sound);
    expect(found.changes).toEqual(["strictAffinity: false becomes true", "maxBlocksPerHost: 0 becomes 1"]);
    expect(found.brings).toMatchObject([{ code: "BlockCapNear", node: "node-b" }]);
    expect(found.planned.first.cause.code).toBe("BlockCapReached");
    expect(found.code).toBe(3);
  });

  it("one that is not enforced changes nothing", async () => {
    const { changes } = await planned(["-f", await installation("{strictAffinity: true}", "Observe")], sound);
    expect(changes).toEqual(["managementPolicy is Observe: the Installation changes nothing"]);
  });

  it("a pool that is closed, and settings by flags", async () => {
    const file = await pool("{cidr: 10.0.0.0/28, blockSize: 30, disabled: true}", "p4");
    const found = await planned(["-f", file, ...asked], sound);
    expect(found.changes).toEqual(['IPPool "p4": disabled false becomes true']);
    expect(found.planned.first.cause.code).toBe("PoolsClosed");
    const strict = await planned(["--strict-affinity", "true", ...asked], sound);
    expect(strict.now.limitOfBlocks).toBe(20);
  });

  it("new nodes have the labels of the first", async () => {
    const zone = await pool("{cidr: 10.8.0.0/28, blockSize: 30, nodeSelector: \"zone == 'a'\"}");
    const nodes = [node("node-a", { labels: { zone: "a" } }), node("node-b")];
    const found = await planned(["-f", zone, "--nodes", "3", ...asked], { ...sound, nodes });
    expect(found.planned.fullNodes).toBe(3);
  });

  it("changes nothing where it looks", async () => {
    const path = await storeOf(sound);
    const revision = async () => {
      const store = openEmbedded(path);
      return (await store.list("IPAMBlock")).revision;
    };
    const before = await revision();
    const ran = await ipamctl(["plan", "--datastore", `embedded:${path}`, ...asked]);
    expect(ran.code).toBe(0);
    expect(await revision()).toBe(before);
  });
});

describe("what cannot be planned", () => {
  it.each([
    [["--cidr", "10.0.0.0/16", "--nodes", "many"], 2, /--nodes 'many' is no whole number/],
    [["--cidr", "10.0.0.0/16", "--block-size", "30", "--strict-affinity", "maybe"], 2, /neither true nor false/],
    [["--cidr", "10.0.0.0/16", "--bundle", "x"], 2, /plans from nothing/],
    [["--block-size", "28"], 2, /is about --cidr/],
    [["--cidr", "10.0.0.0/28"], 2, /--cidr 10\.0\.0\.0\/28: /],
    [["-f", "/nonexistent.yaml", "--bundle", "x"], 1, /nonexistent\.yaml/],
  ])("plan %j ends with %i", async (args, code, message) => {
    expect(await ipamctl(["plan", ...args])).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringMatching(message),
    });
  });

  it("a manifest that breaks a rule is told with its line, and a range that cannot be changed", async () => {
    const broken = await installation("{strictAffinity: false, maxBlocksPerHost: 8}");
    const ran = await ipamctl(["plan", "-f", broken], { snapshot: sound });
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/proposal\.yaml:4: .*MaxBlocksPerHost requires/),
    });
    const moved = await ipamctl(["plan", "-f", await pool("{cidr: 10.9.0.0/28, blockSize: 30}", "p4")], {
      snapshot: sound,
    });
    expect(moved).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("spec.cidr: Forbidden: cidr cannot be changed; make another pool"),
    });
  });

  it("stops when it is interrupted", async () => {
    const signal = AbortSignal.abort(new Error("interrupted"));
    expect(await ipamctl(["plan", "--cidr", "10.0.0.0/16"], { signal })).toMatchObject({ code: 130, stdout: "" });
  });
});
