/** The verbs that read, as the real program against the real API server, by a user who may do no more than read. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiGroups } from "../../src/datastore/flavours.ts";
import { apiOf } from "../installation/fixtures.ts";
import { configuration, reservation } from "../support/ipam-data.ts";
import { ipamctl as run } from "./ipamctl.ts";
import { createEvent, createPod, type Fixture, SECRET, startFixture } from "./reading-cluster.ts";

const main = join(import.meta.dirname, "../../src/cli/main.ts");

function start(kubeconfig: string, args: readonly string[]) {
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", KUBECONFIG: kubeconfig };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const ran = Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code: code as number, stdout, stderr }),
  );
  return { child, ran };
}

describe.each(["v1", "v3"] as const)("on a %s cluster", (generation) => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture(generation);
  }, 300_000);
  afterAll(() => fixture?.stop());

  /** In this process: a start takes longer than what it does. */
  const ipamctl = (...args: string[]) => run(args, { env: { KUBECONFIG: fixture.reader }, now: () => new Date() });
  const json = async (...args: string[]) => JSON.parse((await ipamctl(...args, "-o", "json")).stdout);
  const bundle = () => join(fixture.cluster.dir, "ipam.bundle");

  it("shows pools, and who has an address", async () => {
    const { items } = await json("show");
    expect(items.map(({ name, inUse }: { name: string; inUse: number }) => [name, inUse])).toEqual([
      ["lb", 1],
      ["p4", 3],
    ]);
    expect(await json("show", "--ip", "10.0.0.0")).toMatchObject({ state: "allocated", usedBy: ["Node node-a"] });
    expect(await json("show", "--ip", "10.0.0.4")).toMatchObject({ node: "node-b", usedBy: ["Pod default/web-0"] });
  });

  it("says what fits together", async () => {
    expect((await json("version")).cluster).toMatchObject({
      apiGroup: apiGroups[generation],
      calico: "v3.32.0",
      kubernetes: expect.stringMatching(/^v1\./),
      skew: [],
    });
  });

  it("finds nothing where all is well, as a program of its own", async () => {
    const ran = await start(fixture.reader, ["check"]).ran;
    expect(ran).toEqual({ code: 0, stdout: "", stderr: "nothing found\n" });
    expect(await ipamctl("why", "web-0")).toMatchObject({ code: 0, stdout: "Pod default/web-0 has 10.0.0.4\n" });
  });

  it("shows what is fullest, at which rate, and what a change would carry", async () => {
    const { pools, nodes } = await json("top");
    expect(pools[0]).toMatchObject({ name: "p4", fullPercent: 19, rate: { basis: "allocation times" } });
    expect(nodes.map(({ name, blocks }: { name: string; blocks: number }) => [name, blocks])).toEqual([
      ["node-b", 1],
      ["node-a", 1],
    ]);
    const found = await json("plan", "--pods-per-node", "9");
    expect(found.planned).toMatchObject({ fullNodes: 1, first: { node: "node-b", cause: { code: "PoolExhausted" } } });
    const file = join(fixture.cluster.dir, "pool.yaml");
    const spec = "{cidr: 10.8.0.0/28, blockSize: 30}";
    await writeFile(file, `{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: more}, spec: ${spec}}`);
    expect((await json("plan", "-f", file, "--pods-per-node", "9")).planned).toMatchObject({ fullNodes: 2 });
  });

  it("calls a leak what two looks found, and a bundle says the same", async () => {
    await fixture.cluster.kubectlOk(["delete", "pod", "web-1", "--force", "--grace-period=0"]);
    const ran = await ipamctl("check", "--second-look", "1", "-o", "json");
    const report = JSON.parse(ran.stdout);
    expect([ran.code, report.looks]).toEqual([3, 2]);
    expect(report.items).toMatchObject([{ code: "LeakedAddress", address: "10.0.0.5", node: "node-b" }]);
    expect((await ipamctl("bundle", bundle())).code).toBe(0);
    expect((await json("check", "--bundle", bundle())).items).toEqual(report.items);
    expect(await readFile(bundle(), "utf8")).not.toContain(SECRET);
    await createPod(fixture.client, "web-1", "10.0.0.5");
  });

  describe("a pod does not start", () => {
    const SAID = 'plugin type="calico" failed (add): failed to request IPv4 addresses: No IPs available in pools';
    const kubectl = (...args: string[]) => fixture.cluster.kubectlOk(args);
    const pools = () => `ippools.${apiOf(generation).group}`;
    const patch = (selector: string) =>
      kubectl("patch", pools(), "p4", "--type=merge", "-p", JSON.stringify({ spec: { nodeSelector: selector } }));
    const given: string[] = [];
    const take = async (count: number) => {
      for (let at = 0; at < count; at++) {
        const handleID = `k8s-pod-network.more-${given.length}`;
        const attrs = { pod: `more-${given.length}`, namespace: "default", node: "node-b" };
        const asked = { num4: 1, handleID, hostname: "node-b", intendedUse: "Workload", attrs } as const;
        const { v4 } = await fixture.ipam.autoAssign(asked);
        await createPod(fixture.client, attrs.pod, v4!.ips[0]!.split("/")[0]!);
        given.push(attrs.pod);
      }
    };
    /** Each begins where the one before ended, and puts back what the next must not meet. */
    const SITUATIONS: readonly (readonly [
      cause: string,
      make: () => Promise<unknown>,
      undo: () => Promise<unknown>,
    ])[] = [
      ["NodeNotSelected", () => patch("zone == 'none'"), () => patch("all()")],
      [
        "InvalidConfiguration",
        () => fixture.datastore.create(configuration({ strictAffinity: false, autoAllocateBlocks: false })),
        () => fixture.ipam.setIPAMConfig({ strictAffinity: true, autoAllocateBlocks: true }),
      ],
      [
        "Reserved",
        async () => {
          await take(2);
          await fixture.datastore.create(reservation("rest", "10.0.0.0/28"));
        },
        () => kubectl("delete", `ipreservations.${apiOf(generation).group}`, "rest"),
      ],
      ["BlockCapReached", () => fixture.ipam.setIPAMConfig({ maxBlocksPerHost: 1 }), async () => {}],
      [
        "StrictAffinity",
        async () => {
          await fixture.ipam.setIPAMConfig({ maxBlocksPerHost: 0 });
          await take(8);
        },
        () => fixture.ipam.setIPAMConfig({ strictAffinity: false }),
      ],
      ["PoolExhausted", () => take(3), async () => {}],
      ["LeakedAddress", () => kubectl("delete", "pod", "more-3", "--force", "--grace-period=0"), async () => {}],
      [
        "AffinityOfGoneNode",
        async () => {
          await fixture.ipam.releaseByHandle("k8s-pod-network.more-3");
          await fixture.ipam.setIPAMConfig({ strictAffinity: true });
          await take(1);
          await kubectl("delete", "node", "node-a");
          await fixture.ipam.releaseByHandle("vxlan-tunnel-addr-node-a");
        },
        async () => {},
      ],
    ];

    it("and `kubectl describe` says that it is about addresses", async () => {
      await createPod(fixture.client, "waiting");
      await createEvent(fixture.client, "waiting", SAID);
      expect(await kubectl("describe", "pod", "waiting")).toContain("No IPs available in pools");
      const { code, stdout } = await ipamctl("why", "waiting");
      expect([code, stdout]).toEqual([0, expect.stringContaining("The last attempt that failed was at")]);
    });

    it.each(SITUATIONS)("%s: the next command says so, and of a bundle the same", async (cause, make, undo) => {
      await make();
      const ran = await ipamctl("why", "waiting");
      expect(ran.stdout.split("\n")[0]).toContain(`(${cause})`);
      expect(ran.code).toBe(3);
      expect((await ipamctl("bundle", bundle())).code).toBe(0);
      const ofBundle = await ipamctl("why", "waiting", "--bundle", bundle());
      expect(ofBundle.stdout.replaceAll(` --bundle ${bundle()}`, "")).toBe(ran.stdout);
      expect((await ipamctl("why", "--node", "node-b")).stdout).toContain(`(${cause})`);
      await undo();
    });
  });

  it("says what is missing to whom it is refused", async () => {
    await fixture.cluster.kubectlOk(["delete", "clusterrolebinding", "jane"]);
    await expect
      .poll(() => ipamctl("show"))
      .toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining('Grant this user "list" on ipamblocks'),
      });
  });

  it("stops between two looks when it is interrupted", async () => {
    await fixture.cluster.kubectlOk(["delete", "pod", "web-0", "--force", "--grace-period=0"]);
    const { child, ran } = start(fixture.cluster.kubeconfig, ["check", "--second-look", "600"]);
    await new Promise<void>((resolve) =>
      child.stderr.on("data", (chunk) => String(chunk).includes("looking again") && resolve()),
    );
    child.kill("SIGINT");
    expect(await ran).toMatchObject({ code: 130, stdout: "", stderr: expect.stringContaining("ipamctl: stopped\n") });
  });
});
