/** TRY-41: a range is the same however it is written, an absent field is its default, and a change names its fields. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { affinity, block, pool, usedBlock } from "../support/ipam-data.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { NOW, node, ofPod, pod, sound } from "./sound.ts";

const input = (name: string) => inputSnapshot(`${name}.yaml`, NOW);
const inputFile = (name: string) => join(import.meta.dirname, "../cases/inputs", `${name}.yaml`);
const answer = async (snapshot: Snapshot, ...args: string[]) => {
  const ran = await ipamctl([...args, "-o", "json"], { snapshot });
  return { ...JSON.parse(ran.stdout || "{}"), code: ran.code, stderr: ran.stderr };
};
function manifest(text: string): string {
  const path = scratchFile("manifest.yaml");
  writeFileSync(path, text);
  return path;
}
const plan = (snapshot: Snapshot, ...files: string[]) =>
  answer(snapshot, "plan", "--nodes", "1", "--pods-per-node", "1", ...files.flatMap((file) => ["-f", file]));

const SPELLINGS = [
  "2001:db8:42::/56",
  "2001:DB8:42::0/56",
  "2001:0db8:0042:0000:0000:0000:0000:0000/56",
  "2001:db8:42:0::/56",
];

describe.each(SPELLINGS)("the pool %s", (text) => {
  const stored = input("r04-ipv6-spelt-otherwise");
  const six = {
    ...stored,
    blocks: [usedBlock("2001:db8:42::/122", "n1", { 0: ofPod("six", "n1") })],
    affinities: [affinity("n1", "2001:db8:42::/122")],
  };

  it.each([
    [["show", "--pool", text], 1],
    [["show", "--blocks", "--pool", text], 1],
    [["show", "--map", "--pool", text], 1],
    [["show", "--node", "n1", "--pool", text], 1],
  ])("%j finds it", async (args, count) => {
    const { items, code, stderr } = await answer(six, ...args);
    expect([code, items?.length]).toEqual([0, count]);
    expect(stderr).toMatch(/^(free, and in no block yet: .*\n)?$/);
  });

  it("is a pool that a pod may ask for", async () => {
    const pods = [pod("asks", "n1", [], { phase: "Pending", askedPools: [text] }), pod("six", "n1", ["2001:db8:42::"])];
    expect(await answer({ ...six, pods }, "why", "asks")).toMatchObject({ state: "passes", code: 0 });
  });

  it("may be written so in a manifest: no change, and no refusal", async () => {
    const same = manifest(
      `{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: default-ipv6-ippool}, spec: {cidr: "${text}", blockSize: 122, nodeSelector: all(), vxlanMode: Always, natOutgoing: true}}`,
    );
    expect(await plan(stored, same)).toMatchObject({ code: 0, stderr: "", changes: [] });
  });
});

it("r04: what a proposal adds is new, and its other spelling of a stored pool is no change", async () => {
  const { changes } = await plan(input("r04-ipv6-spelt-otherwise"), inputFile("r04-proposal"));
  expect(changes).toEqual(['IPPool "other" is new']);
});

it("r09: defaults that are spelt out are no change; a label is one, and is named", async () => {
  const { changes } = await plan(input("r09-legacy-pool-stored"), inputFile("r09-same-pool-spelt-out"));
  expect(changes).toEqual([
    'IPPool "default-ipv4-ippool": metadata.labels.app.kubernetes.io/managed-by unset becomes tigera-operator',
  ]);
});

it("every field that changes is named, with both values", async () => {
  const stored = { ...sound, pools: [pool("p4", "10.0.0.0/28", { blockSize: 30, natOutgoing: true })] };
  const wanted = manifest(`
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: p4}
spec: {cidr: 10.0.0.0/28, blockSize: 30, vxlanMode: Always, allowedUses: [Workload], nodeSelector: 'zone == "a"'}
---
apiVersion: projectcalico.org/v3
kind: IPReservation
metadata: {name: gateway}
spec: {reservedCIDRs: [10.0.0.15/32, 10.0.0.8/30]}
`);
  const { changes } = await plan(stored, wanted);
  expect(changes).toEqual([
    'IPPool "p4": vxlanMode Never becomes Always, natOutgoing true becomes false, nodeSelector all() becomes zone == "a", ' +
      "allowedUses Workload, Tunnel becomes Workload",
    'IPReservation "gateway": reservedCIDRs 10.0.0.15/32 becomes 10.0.0.8/30, 10.0.0.15/32',
  ]);
});

it("another range, or another block size, is still refused", async () => {
  const asked = (spec: string) =>
    manifest(`{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: p4}, spec: ${spec}}`);
  const stored = { ...sound, pools: [pool("p4", "10.0.0.0/24", { blockSize: 26 })] };
  for (const [spec, what] of [
    ["{cidr: 10.0.0.0/25}", "spec.cidr: Forbidden: cidr"],
    ["{cidr: 10.0.0.0/24, blockSize: 27}", "spec.blockSize: Forbidden: blockSize"],
  ] as const) {
    expect((await plan(stored, asked(spec))).stderr).toContain(`${what} cannot be changed`);
  }
});

describe("manifests of crd.projectcalico.org/v1", () => {
  const v1 = manifestText();
  const clusters: Snapshot = { ...sound, datastore: "crd.projectcalico.org/v1", pools: [pool("p4", "10.0.0.0/28")] };

  it("are understood on a cluster of that group", async () => {
    const stored = { ...clusters, pools: [pool("p4", "10.0.0.0/28", { blockSize: 30 })], configurations: [] };
    const { changes, stderr } = await plan(stored, manifest(v1));
    expect(stderr).toBe("not free then: p4 4 in use + 1 cooling down + 2 reserved\n");
    expect(changes).toEqual(["strictAffinity: false becomes true", 'IPReservation "one" is new']);
  });

  it("are refused where the cluster does not serve them, with what to write", async () => {
    const { stderr, code } = await plan({ ...sound, datastore: "projectcalico.org/v3" }, manifest(v1));
    expect(code).toBe(1);
    expect(stderr).toContain(
      "IPPool (crd.projectcalico.org/v1) is not served where the data is: write apiVersion: projectcalico.org/v3",
    );
    expect(stderr).toContain("and kind: IPAMConfiguration");
  });
});

function manifestText(): string {
  return `
apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: p4}
spec: {cidr: 10.0.0.0/28, blockSize: 30, ipipMode: Never, vxlanMode: Never, nodeSelector: all()}
---
apiVersion: crd.projectcalico.org/v1
kind: IPAMConfig
metadata: {name: default}
spec: {strictAffinity: true, autoAllocateBlocks: true}
---
apiVersion: crd.projectcalico.org/v1
kind: IPReservation
metadata: {name: one}
spec: {reservedCIDRs: [10.0.0.3/32]}
`;
}

it("an affinity in another spelling is its block's", async () => {
  const cidr = "2001:db8:42::/122";
  const six = {
    ...input("r04-ipv6-spelt-otherwise"),
    blocks: [block(cidr, { affinity: "host:n1" })],
    affinities: [affinity("n1", "2001:DB8:42:0::/122", { state: "pending" })],
    nodes: [node("n1")],
  };
  const { items } = await answer(six, "show", "--map", "--pool", "2001:db8:42::/56");
  expect(items[0].cells.find(({ blocks }: { blocks: number }) => blocks > 0)).toMatchObject({ changing: 1 });
  const { families } = await answer(six, "why", "--node", "n1");
  expect(families.find(({ family }: { family: string }) => family === "IPv6").blocks.counted).toBe(1);
});
