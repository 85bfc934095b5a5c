/** The writing verbs on a real API server of either generation, as a user who holds the role `editor` and nothing else. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { roleName } from "../../rbac/permissions.ts";
import { affinityName } from "../../src/api/names.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { apiGroups, codecOf } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { apiOf, clusterInformationCrd, openCrd } from "../installation/fixtures.ts";
import { denied } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { deleteAll } from "../support/cluster-store.ts";
import { affinity, handle, pool } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { rowsOf } from "./writing-site.ts";

const EDITOR = "system:serviceaccount:kube-system:editor";

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let client: KubeClient;
  let store: Datastore;
  let ipam: Ipam;
  let token: string;
  const information = `clusterinformations.${apiOf(flavour).group}`;

  const create = (object: object) => cluster.kubectlOk(["create", "-f", "-"], { input: JSON.stringify(object) });
  const lock = (isLocked: boolean) =>
    cluster.kubectlOk([
      "patch",
      information,
      "default",
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { datastoreReady: !isLocked } }),
    ]);
  const ipamctl = async (args: readonly string[], kubeconfig = cluster.kubeconfigFor(token)) => {
    let [stdout, stderr] = ["", ""];
    const code = await runProgram([...args, "--kubeconfig", kubeconfig], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: {},
      now: () => new Date(),
      signal: new AbortController().signal,
    });
    return { code, stdout, stderr };
  };
  const json = (...args: string[]) => ipamctl([...args, "--yes", "-o", "json"]);
  const codes = async () => {
    const { stdout } = await ipamctl(["check", "--second-look", "0", "-o", "json"]);
    return Object.keys(JSON.parse(stdout).counts);
  };
  const putRaw = (kind: IpamKind, name: string, spec: object) => {
    const { resource } = codecOf(flavour, kind);
    return client.create(resource, {
      apiVersion: apiGroups[flavour],
      kind: resource.kind,
      metadata: { name },
      spec,
    } as never);
  };
  /** An address of a pod that is not there, or runs. */
  const allocate = async (pod: string) => {
    const attrs = { namespace: "shop", pod, node: "node-a" };
    const { v4 } = await ipam.autoAssign({
      num4: 1,
      handleID: `h.${pod}`,
      hostname: "node-a",
      attrs,
      intendedUse: "Workload",
    });
    return v4!.ips[0]!.split("/")[0]!;
  };
  const runPod = async (name: string, ip: string) => {
    const spec = { nodeName: "node-a", containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false };
    await create({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "shop" }, spec });
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }] };
    await cluster.kubectlOk([
      "patch",
      "pod",
      "-n",
      "shop",
      name,
      "--subresource=status",
      "-p",
      JSON.stringify({ status }),
    ]);
  };

  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    proxy = await startFaultProxy(cluster);
    await cluster.kubectlOk(["apply", "-f", "rbac/"]);
    const controllers = { kind: "KubeControllersConfiguration", plural: "kubecontrollersconfigurations" };
    for (const crd of [clusterInformationCrd(flavour), openCrd({ ...apiOf(flavour), ...controllers })])
      await create(crd);
    await cluster.kubectlOk(["wait", "--for=condition=Established", "crd", "--all"]);
    const { group, version } = apiOf(flavour);
    const spec = { clusterGUID: "guid-of-the-test", datastoreReady: true };
    await create({
      apiVersion: `${group}/${version}`,
      kind: "ClusterInformation",
      metadata: { name: "default" },
      spec,
    });
    await create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-a", labels: { "kubernetes.io/os": "linux" } },
    });
    await create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    await create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "shop" } });
    token = await cluster.serviceAccountToken("kube-system", "editor", { create: true });
    const binding = ["create", "clusterrolebinding", "editor", `--clusterrole=${roleName("editor")}`];
    await cluster.kubectlOk([...binding, "--serviceaccount=kube-system:editor"]);
    client = await connect({ kubeconfig: cluster.kubeconfig });
    store = openKubernetes({ client, flavour });
    ipam = createIpam({ datastore: store, windowsHost: false });
  });
  beforeEach(async () => {
    await deleteAll(cluster, flavour);
    await cluster.kubectl(["delete", "pods", "-n", "shop", "--all", "--grace-period=0", "--force"]);
    await cluster.kubectl(["delete", "ipaminstallations", "--all"]);
    await store.create({ ...pool("pods", "10.0.0.0/24", { blockSize: 28 }), kind: "IPPool" });
    await lock(false);
  });
  afterAll(async () => {
    if (cluster === undefined) return;
    expect(denied(await cluster.auditLog(), EDITOR)).toEqual([]);
    await recordUsage(cluster, { [EDITOR]: "editor" });
    await client.close();
    await proxy.stop();
    await cluster.stop();
  });

  it("release frees what nobody uses, and refuses what a pod uses", async () => {
    const [gone, used] = [await allocate("gone"), await allocate("runs")];
    await runPod("runs", used);
    const ran = await json("release", gone, used);
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, `done release ${gone}`, `kept keep ${used}`]);
    expect(await ipam.ipsByHandle("h.runs")).toEqual([used]);
    await expect(ipam.ipsByHandle("h.gone")).rejects.toMatchObject({ code: "NotFound" });
    expect(await codes()).toEqual([]);
  });

  it("assign takes an address, and release gives it back", async () => {
    const ran = await json("assign", "--node", "node-a", "--handle", "by-hand");
    expect(ran.code).toBe(0);
    const [address] = await ipam.ipsByHandle("by-hand");
    expect(rowsOf(ran)).toEqual([`done assign ${address}`]);
    expect((await json("assign", "10.0.0.77", "--node", "node-a", "--handle", "by-hand")).code).toBe(0);
    const both = await ipam.ipsByHandle("by-hand");
    expect(new Set(both)).toEqual(new Set([address, "10.0.0.77"]));
    const back = await json("release", "--handle", "by-hand");
    const [{ result, addresses }] = JSON.parse(back.stdout).items;
    expect([back.code, result, new Set(addresses)]).toEqual([0, "done", new Set(both)]);
    expect((await json("assign", "--node", "node-x")).stderr).toContain('there is no node "node-x"');
  });

  it("configure writes the configuration, or the Installation that keeps it", async () => {
    const ran = await json("configure", "--strict-affinity", "true", "--max-blocks-per-host", "8");
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done set IPAMConfiguration/default"]);
    expect(await ipam.getIPAMConfig()).toMatchObject({
      strictAffinity: true,
      maxBlocksPerHost: 8,
      autoAllocateBlocks: true,
    });
    const spec = { managementPolicy: "Enforce", ipam: { strictAffinity: true, maxBlocksPerHost: 8 } };
    await create({
      apiVersion: "ipam-operator.io/v1alpha1",
      kind: "Installation",
      metadata: { name: "default" },
      spec,
    });
    expect(await json("configure", "--max-blocks-per-host", "9")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('kept by Installation "default"'),
    });
    expect(rowsOf(await json("configure", "--max-blocks-per-host", "9", "--installation"))).toEqual([
      "done set Installation/default",
    ]);
    expect((await store.get("Installation", "default")).spec).toEqual({
      ...spec,
      ipam: { strictAffinity: true, maxBlocksPerHost: 9 },
    });
    expect(await ipam.getIPAMConfig()).toMatchObject({ maxBlocksPerHost: 8 });
  });

  it("configure asks the rule of Windows nodes where there are any", async () => {
    await json("configure", "--strict-affinity", "true");
    await create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "win", labels: { "kubernetes.io/os": "windows" } },
    });
    const ran = await json("configure", "--strict-affinity", "false");
    await cluster.kubectlOk(["delete", "node", "win"]);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("should not be false for Windows node") });
  });

  it("gc frees what is leaked, and nothing of a pod that runs", async () => {
    const [gone, used] = [await allocate("gone"), await allocate("runs")];
    await runPod("runs", used);
    await store.create({ ...handle("ghost", { "10.0.0.0/28": 1 }), kind: "IPAMHandle" });
    expect(await codes()).toEqual(["LeakedAddress", "OrphanHandle"]);
    const ran = await json("gc", "--grace", "0");
    expect(ran.code).toBe(0);
    expect(rowsOf(ran).filter((row) => row.startsWith("done"))).toEqual([
      `done release ${gone}`,
      "done delete IPAMHandle/ghost",
    ]);
    expect(await codes()).toEqual([]);
  });

  it("repair finishes deletions, writes labels, makes rows and handles, and can put all back", async () => {
    await allocate("gone");
    const [block] = (await store.list("IPAMBlock")).items;
    const { cidr } = block!.spec;
    await store.delete(await store.get("BlockAffinity", affinityName("node-a", cidr)));
    await store.delete(await store.get("IPAMHandle", "h.gone"));
    await putRaw("IPAMHandle", "marked", { handleID: "marked", block: {}, deleted: true });
    const { spec } = affinity("node-a", "10.0.0.240/28", { state: "confirmed" });
    await putRaw(
      "BlockAffinity",
      affinityName("node-a", "10.0.0.240/28"),
      flavour === "v1" ? { ...spec, deleted: "false" } : spec,
    );
    expect((await codes()).sort()).toEqual(
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
      const ran = await json("repair", code, "--grace", "0", "--copy", copies.at(-1)!);
      expect([ran.code, JSON.parse(ran.stdout).counts], ran.stdout).toEqual([0, { done: 1 }]);
      expect(await codes()).not.toContain(code);
    }
    expect(await codes()).toEqual(["LeakedAddress"]);
    const restored: string[] = [];
    for (const copy of copies.slice(0, 4).reverse()) {
      restored.push(...rowsOf(await json("repair", "--restore", copy)).map((row) => row.split(" ", 2).join(" ")));
    }
    // The row whose labels were written is another one since: it was deleted and made again.
    expect(restored).toEqual(["done delete", "done create", "kept restore", "done delete"]);
    // What writes a row writes its labels: they cannot be taken away again.
    expect((await codes()).sort()).toEqual([
      "BlockWithoutAffinity",
      "DanglingAffinity",
      "LeakedAddress",
      "MissingHandle",
    ]);
  });

  describe("Calico's lock", () => {
    it.each([
      [["release", "10.0.0.1"]],
      [["configure", "--strict-affinity", "true"]],
      [["assign", "--node", "node-a"]],
      [["gc", "--grace", "0"]],
      [["repair", "OrphanHandle", "--grace", "0"]],
    ])("%j refuses while it is there", async (args) => {
      await lock(true);
      const ran = await json(...args);
      expect(ran).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("Calico's datastore is locked"),
      });
      expect(await store.list("IPAMConfiguration")).toMatchObject({ items: [] });
    });

    it.each([[["split", "2", "--name", "pods"]], [["release", "--from-report", "none.json"]]])(
      "%j demands it",
      async (args) => {
        const ran = await json(...args);
        expect(ran).toMatchObject({
          code: 1,
          stdout: "",
          stderr: expect.stringContaining("demands that Calico's datastore is locked"),
        });
      },
    );

    it("release --from-report frees what is leaked in a report made under it", async () => {
      const [gone, used] = [await allocate("gone"), await allocate("runs")];
      await runPod("runs", used);
      await store.create({ ...handle("Ghost", { "10.0.0.0/28": 1 }), kind: "IPAMHandle" });
      const [early, late] = [await scratchFile(`${flavour}-early.json`), await scratchFile(`${flavour}-late.json`)];
      await ipamctl(["check", "--second-look", "0", "--report", early]);
      await lock(true);
      expect(await json("release", "--from-report", early)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("none of the reports was made since"),
      });
      await ipamctl(["check", "--second-look", "0", "--report", late]);
      const ran = await json("release", "--from-report", early, late);
      expect([ran.code, ...rowsOf(ran)]).toEqual([0, `done release ${gone}`, "done delete IPAMHandle/ghost"]);
      expect(ran.stderr).toContain("the datastore may be unlocked now");
      expect(await codes()).toEqual(["DatastoreLocked"]);
    });
  });

  it("split is done whole however often it is cut off, at whichever write", async () => {
    const isPool = { path: "ippools", write: true };
    for (const afterUpstream of [false, true]) {
      for (const write of [0, 1, 2, 3]) {
        await deleteAll(cluster, flavour);
        await store.create({ ...pool("pods", "10.0.0.0/24", { blockSize: 28, natOutgoing: true }), kind: "IPPool" });
        await allocate("stays");
        const blocks = (await store.list("IPAMBlock")).items;
        await lock(true);
        let behind = 0;
        const cut = () => proxy.reset(isPool, 10, { afterUpstream });
        if (write === 0) cut();
        else proxy.before(isPool, async () => void (++behind === write && cut()), Number.POSITIVE_INFINITY);
        const args = ["split", "2", "--name", "pods", "--yes", "-o", "json"];
        const first = await ipamctl(args, proxy.kubeconfigFor(token));
        proxy.clear();
        expect(first.code, `write ${write}`).toBe(1);
        expect(rowsOf(first).filter((row) => row.startsWith("failed"))).toHaveLength(1);
        const again = await json("split", "2", "--name", "pods");
        expect(again.code, again.stderr).toBe(0);
        const pools = (await store.list("IPPool")).items.map(({ metadata, spec }) => [
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
        expect((await store.list("IPAMBlock")).items).toEqual(blocks);
        await lock(false);
      }
    }
  });
});
