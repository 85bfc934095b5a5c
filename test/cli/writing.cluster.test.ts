/** The writing verbs on a real API server of either generation, as a user who holds the role `editor` and nothing else. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { kindIn } from "../../src/api/kind-names.ts";
import { affinityName } from "../../src/api/names.ts";
import { affinity, handle } from "../support/ipam-data.ts";
import { type EditorCluster, startEditorCluster } from "./editor-cluster.ts";
import { scratchFile } from "./ipamctl.ts";
import { rowsOf } from "./writing-site.ts";

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let on: EditorCluster;
  beforeAll(async () => {
    on = await startEditorCluster(flavour);
  });
  beforeEach(() => on.reset());
  afterAll(async () => {
    if (on === undefined) return;
    expect(await on.refused()).toEqual([]);
    await on.stop();
  });

  it("release frees what nobody uses, and refuses what a pod uses", async () => {
    const [gone, used] = [await on.allocate("gone"), await on.allocate("runs")];
    await on.runPod("runs", used);
    const ran = await on.json("release", gone, used);
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, `done release ${gone}`, `kept keep ${used}`]);
    expect(await on.ipam.ipsByHandle("h.runs")).toEqual([used]);
    await expect(on.ipam.ipsByHandle("h.gone")).rejects.toMatchObject({ code: "NotFound" });
    expect(await on.codes()).toEqual([]);
  });

  it("assign takes an address, and release gives it back", async () => {
    const ran = await on.json("assign", "--node", "node-a", "--handle", "by-hand");
    expect(ran.code).toBe(0);
    const [address] = await on.ipam.ipsByHandle("by-hand");
    expect(rowsOf(ran)).toEqual([`done assign ${address}`]);
    expect((await on.json("assign", "10.0.0.77", "--node", "node-a", "--handle", "by-hand")).code).toBe(0);
    const both = await on.ipam.ipsByHandle("by-hand");
    expect(new Set(both)).toEqual(new Set([address, "10.0.0.77"]));
    const back = await on.json("release", "--handle", "by-hand");
    const [{ result, addresses }] = JSON.parse(back.stdout).items;
    expect([back.code, result, new Set(addresses)]).toEqual([0, "done", new Set(both)]);
    expect((await on.json("assign", "--node", "node-x")).stderr).toContain('there is no node "node-x"');
  });

  it("configure writes the configuration, or the Installation that keeps it", async () => {
    const ran = await on.json("configure", "--strict-affinity", "true", "--max-blocks-per-host", "8");
    expect([ran.code, ...rowsOf(ran)]).toEqual([
      0,
      `done set ${kindIn(on.store.description, "IPAMConfiguration")}/default`,
    ]);
    expect(await on.ipam.getIPAMConfig()).toMatchObject({
      strictAffinity: true,
      maxBlocksPerHost: 8,
      autoAllocateBlocks: true,
    });
    const spec = { managementPolicy: "Enforce", ipam: { strictAffinity: true, maxBlocksPerHost: 8 } };
    await on.create({
      apiVersion: "ipam-operator.io/v1alpha1",
      kind: "Installation",
      metadata: { name: "default" },
      spec,
    });
    expect(await on.json("configure", "--max-blocks-per-host", "9")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('kept by Installation "default"'),
    });
    expect(rowsOf(await on.json("configure", "--max-blocks-per-host", "9", "--installation"))).toEqual([
      "done set Installation/default",
    ]);
    expect((await on.store.get("Installation", "default")).spec).toEqual({
      ...spec,
      ipam: { strictAffinity: true, maxBlocksPerHost: 9 },
    });
    expect(await on.ipam.getIPAMConfig()).toMatchObject({ maxBlocksPerHost: 8 });
  });

  it("configure asks the rule of Windows nodes where there are any", async () => {
    await on.json("configure", "--strict-affinity", "true");
    await on.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "win", labels: { "kubernetes.io/os": "windows" } },
    });
    const ran = await on.json("configure", "--strict-affinity", "false");
    await on.plane.kubectlOk(["delete", "node", "win"]);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("should not be false for Windows node") });
  });

  it("gc frees what is leaked, and nothing of a pod that runs", async () => {
    const [gone, used] = [await on.allocate("gone"), await on.allocate("runs")];
    await on.runPod("runs", used);
    await on.store.create({ ...handle("ghost", { "10.0.0.0/28": 1 }), kind: "IPAMHandle" });
    expect(await on.codes()).toEqual(["LeakedAddress", "OrphanHandle"]);
    const ran = await on.json("gc", "--grace", "0");
    expect(ran.code).toBe(0);
    expect(rowsOf(ran).filter((row) => row.startsWith("done"))).toEqual([
      `done release ${gone}`,
      "done delete IPAMHandle/ghost",
    ]);
    expect(await on.codes()).toEqual([]);
  });

  it("repair finishes deletions, writes labels, makes rows and handles, and can put all back", async () => {
    await on.allocate("gone");
    const [block] = (await on.store.list("IPAMBlock")).items;
    const { cidr } = block!.spec;
    await on.store.delete(await on.store.get("BlockAffinity", affinityName("node-a", cidr)));
    await on.store.delete(await on.store.get("IPAMHandle", "h.gone"));
    await on.putRaw("IPAMHandle", "marked", { handleID: "marked", block: {}, deleted: true });
    const { spec } = affinity("node-a", "10.0.0.240/28", { state: "confirmed" });
    await on.putRaw(
      "BlockAffinity",
      affinityName("node-a", "10.0.0.240/28"),
      flavour === "v1" ? { ...spec, deleted: "false" } : spec,
    );
    expect((await on.codes()).sort()).toEqual(
      [
        "BlockWithoutAffinity",
        "DanglingAffinity",
        "LeakedAddress",
        "MissingHandle",
        "MissingLabels",
        "UnfinishedDeletion",
      ].sort(),
    );
    const copies: string[] = [];
    for (const code of [
      "BlockWithoutAffinity",
      "MissingLabels",
      "DanglingAffinity",
      "MissingHandle",
      "UnfinishedDeletion",
    ]) {
      copies.push(await scratchFile(`${crypto.randomUUID()}.jsonl`));
      const ran = await on.json("repair", code, "--grace", "0", "--copy", copies.at(-1)!);
      expect([ran.code, JSON.parse(ran.stdout).counts], ran.stdout).toEqual([0, { done: 1 }]);
      expect(await on.codes()).not.toContain(code);
    }
    expect(await on.codes()).toEqual(["LeakedAddress"]);
    const restored: string[] = [];
    for (const copy of copies.slice(0, 4).reverse()) {
      restored.push(...rowsOf(await on.json("repair", "--restore", copy)).map((row) => row.split(" ", 2).join(" ")));
    }
    // The row whose labels were written is another one since: it was deleted and made again.
    expect(restored).toEqual(["done delete", "done create", "kept restore", "done delete"]);
    // What writes a row writes its labels: they cannot be taken away again.
    expect((await on.codes()).sort()).toEqual([
      "BlockWithoutAffinity",
      "DanglingAffinity",
      "LeakedAddress",
      "MissingHandle",
    ]);
  });

  it("repair leaves a block that is marked as deleted while a pod uses an address that it holds", async () => {
    await on.runPod("runs", await on.allocate("runs"));
    const [block] = (await on.store.list("IPAMBlock")).items;
    await on.store.update({ ...block!, spec: { ...block!.spec, deleted: true } });
    const repair = () => on.json("repair", "UnfinishedDeletion", "--grace", "0", "--copy", scratchFile("copy.jsonl"));
    const object = `IPAMBlock/${block!.metadata.name}`;
    const kept = await repair();
    expect(rowsOf(kept)).toEqual([`kept mend ${object}`]);
    expect(kept.stdout).toContain("Pod shop/runs uses it");
    expect(await on.codes()).toContain("UnfinishedDeletion");
    await on.plane.kubectl(["delete", "pods", "-n", "shop", "runs", "--grace-period=0", "--force"]);
    expect(rowsOf(await repair())).toEqual([`done mend ${object}`]);
    expect(await on.codes()).not.toContain("UnfinishedDeletion");
  });

  it("Ctrl-C in a process of its own: 130, and nothing was changed", async () => {
    await on.store.create({ ...handle("ghost", { "10.0.0.0/28": 1 }), kind: "IPAMHandle" });
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const args = [main, "gc", "--grace", "600", "--yes", "--kubeconfig", on.plane.kubeconfig];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let told = "";
    for await (const chunk of child.stderr) {
      const hadSaid = told.includes("looking again in 600 s");
      told += chunk;
      if (!hadSaid && told.includes("looking again in 600 s")) child.kill("SIGINT"); // once: a second one does not wait
    }
    const [code] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
    expect(code).toBe(130);
    expect(told).toMatch(/nothing was changed\nipamctl: stopped\n$/);
    expect(await on.codes()).toEqual(["OrphanHandle"]);
  });

  describe("Calico's lock", () => {
    it.each([
      [["release", "10.0.0.1"]],
      [["configure", "--strict-affinity", "true"]],
      [["assign", "--node", "node-a"]],
      [["gc", "--grace", "0"]],
      [["repair", "OrphanHandle", "--grace", "0"]],
    ])("%j refuses while it is there", async (args) => {
      await on.lock(true);
      const ran = await on.json(...args);
      expect(ran).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("Calico's datastore is locked"),
      });
      expect(await on.store.list("IPAMConfiguration")).toMatchObject({ items: [] });
    });

    it.each([[["split", "2", "--name", "pods"]], [["release", "--from-report", "none.json"]]])(
      "%j demands it",
      async (args) => {
        const ran = await on.json(...args);
        expect(ran).toMatchObject({
          code: 1,
          stdout: "",
          stderr: expect.stringContaining("demands that Calico's datastore is locked"),
        });
      },
    );

    it("release --from-report frees what is leaked in a report made under it", async () => {
      const [gone, used] = [await on.allocate("gone"), await on.allocate("runs")];
      await on.runPod("runs", used);
      await on.store.create({ ...handle("Ghost", { "10.0.0.0/28": 1 }), kind: "IPAMHandle" });
      const [early, late] = [await scratchFile(`${flavour}-early.json`), await scratchFile(`${flavour}-late.json`)];
      await on.run(["check", "--second-look", "0", "--report", early]);
      await on.lock(true);
      expect(await on.json("release", "--from-report", early)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("none of the reports was made since"),
      });
      await on.run(["check", "--second-look", "0", "--report", late]);
      const ran = await on.json("release", "--from-report", early, late);
      expect([ran.code, ...rowsOf(ran)]).toEqual([0, `done release ${gone}`, "done delete IPAMHandle/ghost"]);
      expect(ran.stderr).toContain("the datastore may be unlocked now");
      expect(await on.codes()).toEqual(["DatastoreLocked"]);
    });
  });

  it("split is done whole however often it is cut off, at whichever write", async () => {
    const isPool = { path: "ippools", write: true };
    for (const afterUpstream of [false, true]) {
      for (const write of [0, 1, 2, 3]) {
        await on.reset();
        await on.allocate("stays");
        const blocks = (await on.store.list("IPAMBlock")).items;
        await on.lock(true);
        let behind = 0;
        const cut = () => on.proxy.reset(isPool, 10, { afterUpstream });
        if (write === 0) cut();
        else on.proxy.before(isPool, async () => void (++behind === write && cut()), Number.POSITIVE_INFINITY);
        const args = ["split", "2", "--name", "pods", "--yes", "-o", "json"];
        const first = await on.run(args, true);
        on.proxy.clear();
        expect(first.code, `write ${write}`).toBe(1);
        expect(rowsOf(first).filter((row) => row.startsWith("failed"))).toHaveLength(1);
        const again = await on.json("split", "2", "--name", "pods");
        expect(again.code, again.stderr).toBe(0);
        const pools = (await on.store.list("IPPool")).items.map(({ metadata, spec }) => [
          metadata.name,
          spec.cidr,
          spec.disabled,
          spec.natOutgoing,
        ]);
        expect(pools.map(([name, cidr]) => [name, cidr])).toEqual([
          ["split-pods-0", "10.0.0.0/25"],
          ["split-pods-1", "10.0.0.128/25"],
        ]);
        expect(pools.every(([, , disabled, nat]) => !disabled && nat === true)).toBe(true);
        expect((await on.store.list("IPAMBlock")).items).toEqual(blocks);
        await on.lock(false);
      }
    }
  });
});
