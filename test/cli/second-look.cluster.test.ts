/** TRY-05 on a real API server: what came back while gc's question stood open is kept; a block's leaks cost one look and one write. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { tunnelHandle } from "../../src/api/names.ts";
import { openCrd } from "../installation/fixtures.ts";
import { pool } from "../support/ipam-data.ts";
import { type EditorCluster, startEditorCluster } from "./editor-cluster.ts";
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

  const makeNode = (name: string) => on.create({ apiVersion: "v1", kind: "Node", metadata: { name } });
  const whileAsked = (change: () => Promise<unknown>) => ({
    ask: async () => {
      await change();
      return "y";
    },
  });

  it("a node that was made again keeps its tunnel's address, and a pod its own", async () => {
    const handleID = tunnelHandle("vxlan", "node-z");
    const attrs = { node: "node-z", type: "vxlanTunnelAddress" };
    await on.ipam.assignIP({ ip: "10.0.0.77", hostname: "node-a", handleID, attrs });
    const [back, gone] = [await on.allocate("back"), await on.allocate("gone")];
    const change = async () => {
      await makeNode("node-z");
      await on.runPod("back", back);
    };
    const ran = await on.run(["gc", "--grace", "0", "-o", "json"], false, whileAsked(change));
    await on.plane.kubectlOk(["delete", "node", "node-z"]);
    const rows = [`done release ${gone}`, "kept release 10.0.0.77", `kept release ${back}`];
    expect(rowsOf(ran).sort()).toEqual(rows.sort());
    expect(await on.ipam.ipsByHandle(handleID)).toEqual(["10.0.0.77"]);
    expect(await on.ipam.ipsByHandle("h.back")).toEqual([back]);
  });

  it("40 leaks of one block: one write of it, one look at its node's pods, three requests a handle", async () => {
    await on.store.delete(await on.store.get("IPPool", "pods"));
    await on.store.create({ ...pool("wide", "10.0.0.0/24", { blockSize: 26 }), kind: "IPPool" });
    for (let index = 0; index < 40; index++) await on.allocate(`gone-${index}`);
    let last = 0;
    const asked = whileAsked(async () => {
      last = on.proxy.requests.length;
    });
    const ran = await on.run(["gc", "--grace", "0", "-o", "json"], true, asked);
    expect(rowsOf(ran).filter((row) => row.startsWith("done release"))).toHaveLength(40);
    const requests = on.proxy.requests.slice(last);
    const counted = (method: string, plural: string) =>
      requests.filter((request) => request.method === method && request.path.includes(`/${plural}`)).length;
    expect(counted("PUT", "ipamblocks") + counted("PATCH", "ipamblocks")).toBe(1);
    expect([counted("GET", "pods"), counted("GET", "nodes")]).toEqual([1, 1]);
    const ofHandles = requests.filter(({ path }) => path.includes("/ipamhandles"));
    expect(ofHandles.length).toBeLessThanOrEqual(3 * 40);
    expect(requests.length - ofHandles.length).toBeLessThanOrEqual(12);
    await expect(on.ipam.ipsByHandle("h.gone-0")).rejects.toMatchObject({ code: "NotFound" });
  });

  it("the address of a KubeVirt VM is kept, and that of one that is gone is freed", async () => {
    const group = "kubevirt.io";
    const kinds = [
      { kind: "VirtualMachine", plural: "virtualmachines" },
      { kind: "VirtualMachineInstance", plural: "virtualmachineinstances" },
    ];
    const names = kinds.map(({ plural }) => `crd/${plural}.${group}`);
    for (const kind of kinds) {
      const crd = openCrd({ group, version: "v1", ...kind });
      await on.create({ ...crd, spec: { ...crd.spec, scope: "Namespaced" } });
    }
    await on.plane.kubectlOk(["wait", "--for=condition=Established", ...names]);
    const metadata = { name: "stopped", namespace: "shop" };
    await on.create({ apiVersion: `${group}/v1`, kind: "VirtualMachine", metadata });
    const assign = async (ip: string, vm: string) => {
      const attrs = { namespace: "shop", "vmi-name": vm, node: "node-a" };
      await on.ipam.assignIP({ ip, hostname: "node-a", handleID: `k8s-pod-network.vmi.${vm}`, attrs });
    };
    await assign("10.0.0.20", "stopped");
    await assign("10.0.0.21", "gone");
    const ran = await on.json("gc", "--grace", "0");
    await on.plane.kubectlOk(["delete", ...names]);
    expect(rowsOf(ran).filter((row) => row.includes("release"))).toEqual(["done release 10.0.0.21"]);
    expect(await on.ipam.ipsByHandle("k8s-pod-network.vmi.stopped")).toEqual(["10.0.0.20"]);
  });
});
