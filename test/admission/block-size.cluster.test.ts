/**
 * The admission policy for new IPAMBlocks on a real API server, in both API groups: what it refuses, what it lets pass,
 * and that the claims of the library and of Calico pass. It is applied before the CRDs, as a chart may do it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { blockName } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import type { IPPoolSpec } from "../../src/api/v3.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { applyCrds } from "../control-plane/crds.ts";
import { deleteAll } from "../support/cluster-store.ts";

const policyFile = (variant: "deny" | "warn") =>
  join(import.meta.dirname, `../../crds/admission/ipam-block-size-${variant}.yaml`);

interface RecordedPool {
  readonly name: string;
  readonly cidr: string;
  readonly blockSize: number;
}
interface RecordedStep {
  readonly op: string;
  readonly args: RecordedPool;
  readonly objects?: { readonly ipamblocks?: readonly { readonly spec: { readonly cidr: string } }[] };
}

/** The pools of each scenario that was recorded with Calico, and the blocks that Calico made in them. */
function recordedScenarios(group: string): { pools: RecordedPool[]; blocks: string[] }[] {
  const folder = join(import.meta.dirname, "../golden");
  const files = readdirSync(folder).filter((name) => name.startsWith("scenario-") && name.endsWith(`.${group}.json`));
  return files.map((file) => {
    const { steps } = JSON.parse(readFileSync(join(folder, file), "utf8")) as { steps: RecordedStep[] };
    const pools = new Map(steps.filter(({ op }) => op === "EnsureIPPool").map(({ args }) => [args.name, args]));
    const blocks = steps.flatMap(({ objects }) => objects?.ipamblocks ?? []).map(({ spec }) => spec.cidr);
    return { pools: [...pools.values()], blocks: [...new Set(blocks)] };
  });
}

let cluster: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "none" });
  await cluster.apply(policyFile("deny"));
  client = await connect({ kubeconfig: cluster.kubeconfig });
});
afterAll(async () => {
  await client?.close();
  await cluster?.stop();
});

describe.each(["v1", "v3"] as const)("%s", (group) => {
  const ipPools = resources.IPPool[group];
  const ipamBlocks = resources.IPAMBlock[group];
  const apiVersion = `${ipPools.group}/${ipPools.version}`;
  const named = ({ plural, group: apiGroup }: { plural: string; group: string }) => `${plural}.${apiGroup}`;
  const put = (object: object) =>
    cluster.kubectl(["create", "--filename", "-"], { input: JSON.stringify({ apiVersion, ...object }) });

  const createPool = async (name: string, cidr: string, spec: Partial<IPPoolSpec> = {}, metadata = {}) => {
    const { code, stderr } = await put({ kind: "IPPool", metadata: { name, ...metadata }, spec: { cidr, ...spec } });
    expect(code, stderr).toBe(0);
  };
  const setAllocatable = (name: string, status: "True" | "False", reason: string) => {
    const condition = { type: "Allocatable", status, reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const patch = JSON.stringify({ status: { conditions: [condition] } });
    return cluster.kubectlOk(["patch", named(ipPools), name, "--subresource=status", "--type=merge", "--patch", patch]);
  };
  const blockObject = (cidr: string, name = blockName(cidr)) => ({
    kind: "IPAMBlock",
    metadata: { name },
    spec: { cidr, allocations: [null], unallocated: [0], attributes: [], strictAffinity: false, deleted: false },
  });
  const createBlock = (cidr: string, name?: string) => put(blockObject(cidr, name));
  /** The API server reads pools from an informer: what a test asks for comes soon, and then stays. */
  const soon = <T>(check: () => Promise<T>, timeout = 15_000) => vi.waitFor(check, { timeout, interval: 100 });
  const dryRun = async (cidr: string, name?: string) => {
    const input = JSON.stringify({ apiVersion, ...blockObject(cidr, name) });
    return cluster.kubectl(["create", "--dry-run=server", "--filename", "-"], { input });
  };
  const refused = (cidr: string, size: number, pool: string, name: string, timeout?: number) =>
    soon(async () => {
      const { code, stderr } = await dryRun(cidr);
      const words = `spec.cidr ${cidr} must be a /${size} inside ${pool}, the blockSize and range of IPPool ${name}`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(words) });
    }, timeout);
  const passes = (cidr: string) => soon(async () => expect(await dryRun(cidr)).toMatchObject({ code: 0, stderr: "" }));

  beforeAll(async () => {
    await applyCrds(cluster, group);
    await createPool("probe", "10.255.0.0/24");
    // An API server looks for a parameter kind that was not there when the policy came only from time to time.
    await refused("10.255.0.0/28", 26, "10.255.0.0/24", "probe", 90_000);
  });
  beforeEach(() => deleteAll(cluster, group));

  it.each([
    ["smaller than the pool's blockSize", "10.1.0.32/29"],
    ["larger than the pool's blockSize", "10.1.0.0/26"],
    ["as large as the pool", "10.1.0.0/24"],
    ["larger than the pool", "10.0.0.0/12"],
  ])("refuses a block %s", async (_, cidr) => {
    await createPool("a", "10.1.0.0/24", { blockSize: 27 });
    await refused(cidr, 27, "10.1.0.0/24", "a");
    await passes("10.1.0.32/27");
    await passes("10.9.0.0/29");
  });

  it("takes 26 and 122 where the pool names no blockSize, or 0", async () => {
    await createPool("a", "10.1.0.0/24");
    await createPool("b", "10.2.0.0/24", { blockSize: 0 });
    await createPool("c", "fd00:1::/112");
    await refused("10.1.0.0/27", 26, "10.1.0.0/24", "a");
    await refused("10.2.0.0/27", 26, "10.2.0.0/24", "b");
    await refused("fd00:1::40/123", 122, "fd00:1::/112", "c");
    for (const cidr of ["10.1.0.64/26", "10.2.0.0/26", "fd00:1::40/122"]) await passes(cidr);
  });

  it.each([
    ["disabled", { disabled: true }, {}],
    ["not allocatable", {}, {}],
    ["being deleted", {}, { finalizers: ["example.com/hold"] }],
  ])("a pool that is %s binds nobody", async (state, spec, metadata) => {
    await createPool("a", "10.1.0.0/24", { blockSize: 27, ...spec }, metadata);
    if (state === "not allocatable") await setAllocatable("a", "False", "CIDROverlap");
    if (state === "being deleted") await cluster.kubectlOk(["delete", named(ipPools), "a", "--wait=false"]);
    await createPool("later", "10.2.0.0/24", { blockSize: 27 });
    await refused("10.2.0.0/28", 27, "10.2.0.0/24", "later");
    await passes("10.1.0.0/28");
    if (state === "being deleted") await removeFinalizers("a");
  });
  const removeFinalizers = (name: string) =>
    cluster.kubectlOk(["patch", named(ipPools), name, "--type=merge", "--patch", '{"metadata":{"finalizers":null}}']);

  it("of two pools that overlap the one that is not allocatable binds nobody, and without conditions both bind", async () => {
    await createPool("wide", "10.1.0.0/24", { blockSize: 26 });
    await createPool("narrow", "10.1.0.0/25", { blockSize: 28 });
    await refused("10.1.0.0/28", 26, "10.1.0.0/24", "wide");
    await refused("10.1.0.0/26", 28, "10.1.0.0/25", "narrow");
    await passes("10.1.0.128/26");
    await setAllocatable("wide", "True", "OK");
    await setAllocatable("narrow", "False", "CIDROverlap");
    await passes("10.1.0.0/26");
    await refused("10.1.0.0/28", 26, "10.1.0.0/24", "wide");
  });

  it.each([
    ["that is no range", "10.1.0.0"],
    ["with host bits", "10.1.0.40/26"],
    ["in the IPv4-mapped form", "::ffff:10.1.0.0/122"],
  ])("refuses a cidr %s", async (_, cidr) => {
    await createPool("a", "10.1.0.0/24");
    await soon(async () => {
      const { code, stderr } = await dryRun(cidr, "odd");
      const bySchema = `spec.cidr in body must be of type cidr: "${cidr}"`;
      const byPolicy = `spec.cidr '${cidr}' must be an IPv4 or IPv6 range without address bits beyond its prefix length`;
      const words = group === "v3" && !cidr.includes("/") ? bySchema : byPolicy;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(words) });
    });
  });

  it("an existing block of another size can be updated and deleted", async () => {
    expect(await createBlock("10.1.0.0/29")).toMatchObject({ code: 0 });
    await createPool("a", "10.1.0.0/24", { blockSize: 27 });
    await refused("10.1.0.8/29", 27, "10.1.0.0/24", "a");
    const patch = '{"spec":{"affinity":"host:node-a"}}';
    await cluster.kubectlOk(["patch", named(ipamBlocks), "10-1-0-0-29", "--type=merge", "--patch", patch]);
    await cluster.kubectlOk(["delete", named(ipamBlocks), "10-1-0-0-29"]);
  });

  it("lets the library claim", async () => {
    await createPool("four", "10.1.0.0/24", { blockSize: 28 });
    await createPool("six", "fd00:1::/112");
    await refused("10.1.0.0/29", 28, "10.1.0.0/24", "four");
    await refused("fd00:1::/124", 122, "fd00:1::/112", "six");
    const ipam: Ipam = createIpam({
      datastore: openKubernetes({ client, flavour: group }),
      nodes: async () => ({}),
      windowsHost: false,
    });
    const assigned = await ipam.autoAssign({
      num4: 20,
      num6: 1,
      handleID: "h",
      hostname: "node-a",
      intendedUse: "Workload",
    });
    expect(assigned.v4?.ips).toHaveLength(20);
    expect(assigned.v6?.ips).toHaveLength(1);
    await ipam.assignIP({ ip: "10.1.0.200", handleID: "h", hostname: "node-b" });
  });

  it("lets pass every block that Calico made in its recorded scenarios", async () => {
    let seen = 0;
    for (const { pools, blocks } of recordedScenarios(group)) {
      await deleteAll(cluster, group);
      for (const { name, cidr, blockSize } of pools) await createPool(name, cidr, { blockSize });
      for (const { name, cidr, blockSize } of pools) await refused(otherSize(cidr, blockSize), blockSize, cidr, name);
      for (const cidr of blocks) expect(await dryRun(cidr), cidr).toMatchObject({ code: 0, stderr: "" });
      seen += blocks.length;
    }
    expect(seen).toBeGreaterThan(20);
  }, 120_000);
  const otherSize = (cidr: string, blockSize: number) =>
    `${cidr.split("/")[0]}/${blockSize % 32 === 0 ? blockSize - 1 : blockSize + 1}`;

  describe("warning only", () => {
    beforeAll(() => cluster.apply(policyFile("warn")));
    afterAll(() => cluster.apply(policyFile("deny")));

    it("creates the block and warns", async () => {
      await createPool("a", "10.1.0.0/24", { blockSize: 27 });
      await soon(async () => {
        const { code, stderr } = await dryRun("10.1.0.0/29");
        expect({ code, stderr }).toEqual({
          code: 0,
          stderr: expect.stringContaining("must be a /27 inside 10.1.0.0/24"),
        });
      });
    });
  });
});
