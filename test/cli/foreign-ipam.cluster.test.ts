/** TRY-06: every verb on a cluster whose pods get their addresses from another IPAM than Calico's. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { calicoInstallationCrd } from "../installation/fixtures.ts";
import { type EditorCluster, startEditorCluster } from "./editor-cluster.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { rowsOf } from "./writing-site.ts";

const WARNING = "spec.cni.ipam.type: HostLocal";

let on: EditorCluster;
beforeAll(async () => {
  on = await startEditorCluster("v3");
  await on.create(calicoInstallationCrd);
  await on.plane.kubectlOk(["wait", "--for=condition=Established", "crd/installations.operator.tigera.io"]);
});
beforeEach(() => on.reset());
afterAll(async () => {
  if (on === undefined) return;
  expect(await on.refused()).toEqual([]);
  await on.stop();
});

const ipamType = async (type: string) => {
  await on.plane.kubectl(["delete", "installations.operator.tigera.io", "--all"]);
  const spec = { cni: { type: "Calico", ipam: { type } } };
  await on.create({ apiVersion: "operator.tigera.io/v1", kind: "Installation", metadata: { name: "default" }, spec });
};

/** Five pods with addresses of the pool, no block for them, and one stray allocation. */
async function podsOfAnother(): Promise<string> {
  const stray = await on.allocate("gone");
  for (const last of [1, 2, 3, 4, 5]) await on.runPod(`web-${last}`, `10.0.0.${100 + last}`);
  return stray;
}

const CALLS: Readonly<Record<string, readonly string[]>> = {
  release: ["10.0.0.1"],
  configure: ["--strict-affinity", "true"],
  assign: ["--node", "node-a"],
  gc: ["--grace", "0"],
  repair: ["OrphanHandle", "--grace", "0"],
  split: ["2", "--name", "pods"],
  show: [],
  why: ["--node", "node-a"],
  check: ["--second-look", "0"],
  plan: [],
  bundle: ["FILE"],
};
const writing = VERBS.filter(({ flags }) => flags.some(({ flags: text }) => text === "--dry-run"));

describe("IPAM type HostLocal", () => {
  beforeEach(() => ipamType("HostLocal"));

  it("no advice about pods, and why names the cause", async () => {
    await podsOfAnother();
    const { stdout, stderr } = await on.run(["check", "--second-look", "0", "-o", "json"]);
    expect(stderr.split("\n")[0]).toContain(WARNING);
    expect(Object.keys(JSON.parse(stdout).counts)).toEqual(["LeakedAddress"]);
    expect(stdout).not.toContain("kubectl delete pod");
    const why = await on.run(["why", "--node", "node-a", "-o", "json"]);
    expect([why.code, JSON.parse(why.stdout).causes]).toMatchObject([3, [{ code: "OtherIPAM" }]]);
  });

  it.each(writing.map(({ name }) => name))("%s refuses without --force, and says why first", async (verb) => {
    const stray = await podsOfAnother();
    const before = await on.store.list("IPAMBlock");
    const ran = await on.json(verb, ...CALLS[verb]!);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr.split("\n")[0]).toContain(WARNING);
    expect(ran.stderr).toContain("--force");
    expect((await on.store.list("IPAMBlock")).items).toEqual(before.items);
    expect(await on.ipam.ipsByHandle("h.gone")).toEqual([stray]);
  });

  it.each(["show", "why", "check", "plan", "bundle"])("%s says it first", async (verb) => {
    const file = scratchFile("ipam.bundle");
    const ran = await on.run([verb, ...CALLS[verb]!.map((word) => (word === "FILE" ? file : word))]);
    expect(ran.stderr.split("\n")[0]).toContain(WARNING);
    if (verb === "bundle") expect((await ipamctl(["show", "--bundle", file])).stderr).toContain(WARNING);
  });

  it("--force writes, and --dry-run shows what it would", async () => {
    const stray = await podsOfAnother();
    expect(rowsOf(await on.json("gc", "--dry-run"))).toEqual([`planned release ${stray}`]);
    const forced = await on.json("gc", "--grace", "0", "--force");
    expect([forced.code, ...rowsOf(forced)]).toEqual([0, `done release ${stray}`]);
    expect(forced.stderr.split("\n")[0]).toContain(WARNING);
  });
});

describe("IPAM type Calico", () => {
  beforeEach(() => ipamType("Calico"));

  it("is looked at and written as ever", async () => {
    const stray = await podsOfAnother();
    const { stdout, stderr } = await on.run(["check", "--second-look", "0", "-o", "json"]);
    expect(stderr).not.toContain("spec.cni.ipam.type");
    expect(JSON.parse(stdout).counts).toEqual({ InUseNotAllocated: 5, LeakedAddress: 1 });
    expect(stdout).toContain("kubectl delete pod");
    const ran = await on.json("gc", "--grace", "0");
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, `done release ${stray}`]);
  });
});
