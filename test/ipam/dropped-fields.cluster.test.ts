/** TRY-08: an IPAMBlock CRD that is older than `releasedAt`, and a cooldown that is configured all the same. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AllocationAttribute } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { blockCrd } from "../installation/fixtures.ts";
import { deleteAll } from "../support/cluster-store.ts";
import { configuration, pool } from "../support/ipam-data.ts";

const POOL = "10.0.0.0/24";
const COOLDOWN_SECONDS = 1000;

describe.each(["v1", "v3"] as const)("blocks of a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let store: Datastore;
  let ipam: Ipam;
  let warnings: string[];
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    await cluster.apply("apiVersion: v1\nkind: Node\nmetadata: {name: host-a}\n");
  });
  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });
  beforeEach(async () => {
    open();
    await store.create(pool("pool", POOL, { blockSize: 28 }));
    await store.create(configuration({ ipCooldownSeconds: COOLDOWN_SECONDS }));
  });
  afterEach(() => deleteAll(cluster, flavour));

  /** As a process of its own. */
  const open = () => {
    warnings = [];
    store = openKubernetes({ client, flavour });
    ipam = createIpam({ datastore: store, hostname: "host-a", warn: (message) => warnings.push(message) });
  };
  /** Puts a CRD in place and waits until blocks keep, or lose, `releasedAt`. */
  const serve = async (keeps: boolean) => {
    const crd = JSON.stringify(blockCrd(flavour, keeps ? undefined : "releasedAt"));
    await cluster.kubectlOk(["apply", "--server-side", "--force-conflicts", "--filename", "-"], { input: crd });
    await expect.poll(async () => entries(await keptOf({ releasedAt: "2026-01-02T03:04:05Z" }))).toBe(keeps ? 1 : 0);
  };
  /** What would be stored of an entry. */
  const keptOf = async (entry: AllocationAttribute) => {
    const { items } = await store.list("IPAMBlock");
    const block = items[0] ?? (await made());
    return (await store.rehearse!({ ...block, spec: { ...block.spec, attributes: [entry] } })).spec.attributes[0]!;
  };
  const made = async () => {
    await ipam.claimAffinity("10.0.0.240/28", { affinityType: "host", host: "host-z" });
    return (await store.list("IPAMBlock")).items[0]!;
  };
  const entries = (value: object) => Object.keys(value).length;
  const take = async (handleID: string, num4 = 2) => {
    const { v4 } = await ipam.autoAssign({ num4, handleID, hostname: "host-a", intendedUse: "Workload" });
    return v4!.ips.map((ip) => ip.split("/")[0]!);
  };
  const ownBlock = async () => {
    const { items } = await store.list("IPAMBlock");
    return items.find(({ spec }) => spec.affinity === "host:host-a")!;
  };
  const blockPuts = async () =>
    (await cluster.auditLog()).filter(
      ({ verb, objectRef }) => verb === "update" && objectRef?.resource === "ipamblocks",
    ).length;

  test("without releasedAt: what is released is free at once, and the CRD and the field are named", async () => {
    await serve(false);
    open();
    const ips = await take("h1");
    await ipam.releaseIPs(ips.map((address) => ({ address })));
    const { spec } = await ownBlock();
    expect(spec.attributes).toEqual([]);
    expect(spec.unallocated).toHaveLength(16);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/CRD ipamblocks\.\S*projectcalico\.org does not keep spec\.attributes\[\]\.releasedAt/);
    expect(warnings[0]).toMatch(/Upgrade Calico's CRDs, or set ipCooldownSeconds to 0/);

    await take("h2");
    await ipam.releaseByHandle("h2");
    expect((await ownBlock()).spec.unallocated).toHaveLength(16);
    expect((await store.list("IPAMHandle")).items).toEqual([]);
    await serve(true);
  });

  test("with it: the first release is rehearsed, no other is, and addresses cool down", async () => {
    await serve(true);
    open();
    await take("h1");
    await take("h2");
    const before = await blockPuts();
    await ipam.releaseByHandle("h1");
    expect(await blockPuts()).toBe(before + 2);
    await ipam.releaseByHandle("h2");
    expect(await blockPuts()).toBe(before + 3);
    const { spec } = await ownBlock();
    expect(spec.attributes.map((entry) => Object.keys(entry))).toEqual(
      [["releasedAt"], ["releasedAt"]].slice(0, spec.attributes.length),
    );
    expect(spec.unallocated).toHaveLength(12);
    expect(warnings).toEqual([]);
  });

  test("replaced by an older CRD under a running process: what the server forgot is freed by the same call", async () => {
    await serve(true);
    open();
    await take("h1");
    await take("h2");
    await ipam.releaseByHandle("h1");
    await serve(false);
    await ipam.releaseByHandle("h2");
    const { spec } = await ownBlock();
    expect(spec.unallocated.length + spec.allocations.filter((index) => index !== null).length).toBe(16);
    expect(spec.unallocated.length).toBeGreaterThanOrEqual(14);
    expect(warnings[0]).toMatch(/does not keep spec\.attributes\[\]\.releasedAt/);
    await serve(true);
  });
});
