/**
 * Calico beside the library on a real API server: it compares equal ranges only, and creates a block over one of the library's
 * after the library has looked. The next look sees it: what both blocks cover is allocated from neither.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { blockName } from "../../../src/api/names.ts";
import { cachedDatastore } from "../../../src/datastore/cached.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openKubernetes } from "../../../src/datastore/kubernetes.ts";
import { createIpam } from "../../../src/ipam/client.ts";
import { connect } from "../../../src/kube/rest.ts";
import type { KubeClient } from "../../../src/kube/types.ts";
import { ipamctl } from "../../cli/ipamctl.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { atHand } from "../../support/at-hand.ts";
import { deleteAll } from "../../support/cluster-store.ts";
import { affinity, pool, usedBlock } from "../../support/ipam-data.ts";
import { createNodes } from "../racing.ts";

const OURS = "10.70.0.0/26";
const CALICOS = "10.70.0.0/28";
const ask = { intendedUse: "Workload" } as const;
const shared = (ips: readonly string[]) => ips.filter((ip) => Number(ip.split("/")[0]!.split(".")[3]) < 16);

let cluster: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  client = await connect({ kubeconfig: cluster.kubeconfig });
  await createNodes(client);
});
afterAll(async () => {
  await client?.close();
  await cluster?.stop();
});

/** Claims a block as Calico does, and takes its last address. */
async function claimAsCalico(store: Datastore): Promise<void> {
  const row = await store.create(affinity("host-b", CALICOS, { state: "pending" }));
  await expect(store.get("IPAMBlock", blockName(CALICOS))).rejects.toMatchObject({ code: "NotFound" });
  await store.create(usedBlock(CALICOS, "host-b", { 15: { handle_id: "calicos", secondary: {} } }));
  await store.update({ ...row, spec: { ...row.spec, state: "confirmed" } });
}

/** The same store, in which Calico acts between the library's look and its confirmation. */
function withCalico(store: Datastore): Datastore {
  let hasActed = false;
  return {
    description: store.description,
    ...atHand(store),
    get: (kind, name, options) => store.get(kind, name, options),
    list: (kind, options) => store.list(kind, options),
    ...(store.listNames && { listNames: (kind, options) => store.listNames!(kind, options) }),
    create: (object, options) => store.create(object, options),
    update: async (object, options) => {
      if (!hasActed && object.kind === "BlockAffinity" && object.spec.state === "confirmed") {
        hasActed = true;
        await claimAsCalico(store);
      }
      return store.update(object, options);
    },
    updateStatus: (object, options) => store.updateStatus(object, options),
    delete: (object, options) => store.delete(object, options),
    watch: (kind, options) => store.watch(kind, options),
    close: () => store.close(),
  };
}

describe.each(["v1", "v3"] as const)("on %s", (flavour) => {
  let store: Datastore;
  const ipamOf = (datastore: Datastore, hostname: string) =>
    createIpam({ datastore, hostname, blockOrder: () => 0n, warn: () => {} });
  /** With all blocks at hand. */
  const following = async () => {
    const datastore = cachedDatastore(openKubernetes({ client, flavour }));
    await datastore.synced();
    return datastore;
  };
  beforeEach(async () => {
    await deleteAll(cluster, flavour);
    store = openKubernetes({ client, flavour });
    await store.create(pool("main", OURS, { blockSize: 26 }));
    const { v4 } = await ipamOf(withCalico(store), "host-a").autoAssign({ ...ask, num4: 1, handleID: "first" });
    expect(v4?.ips).toHaveLength(1);
    const blocks = (await store.list("IPAMBlock")).items.map(({ spec }) => spec.cidr);
    expect(blocks).toEqual([OURS, CALICOS]);
  });

  test("whoever follows the blocks allocates nothing more of what both cover", async () => {
    const datastore = await following();
    const ours = await ipamOf(datastore, "host-a").autoAssign({ ...ask, num4: 20, handleID: "second" });
    expect(ours.v4?.ips).toHaveLength(20);
    expect(shared(ours.v4!.ips)).toEqual([]);
    for (const host of ["host-b", "host-a"]) {
      const rest = await ipamOf(datastore, host).autoAssign({ ...ask, num4: 64, handleID: `rest-of-${host}` });
      expect(shared(rest.v4!.ips)).toEqual([]);
    }
    await datastore.close();
  });

  test("a process that follows nothing looks when it borrows", async () => {
    const { v4 } = await ipamOf(store, "host-c").autoAssign({ ...ask, num4: 64, handleID: "host-c" });
    expect(v4?.ips.length).toBeGreaterThan(0);
    expect(shared(v4!.ips)).toEqual([]);
  });

  test("no address of both is assigned by name", async () => {
    const datastore = await following();
    const refused = { code: "BlockOverlap" };
    for (const host of ["host-a", "host-b", "host-c"]) {
      await expect(ipamOf(datastore, host).assignIP({ ip: "10.70.0.5", handleID: "named" })).rejects.toMatchObject(
        refused,
      );
    }
    await expect(ipamOf(store, "host-c").assignIP({ ip: "10.70.0.5", handleID: "named" })).rejects.toMatchObject(
      refused,
    );
    await datastore.close();
  });

  test("ipamctl check calls it critical", async () => {
    const args = ["check", "--datastore", flavour, "-o", "json"];
    const { stdout } = await ipamctl(args, { env: { KUBECONFIG: cluster.kubeconfig }, now: () => new Date() });
    const { items } = JSON.parse(stdout) as { items: { code: string; severity: string; message: string }[] };
    const found = items.filter(({ code }) => code === "OverlappingBlocks");
    expect(new Set(found.map(({ severity }) => severity))).toEqual(new Set(["critical"]));
    expect(found.map(({ message }) => message).join()).toContain(CALICOS);
    expect(found.map(({ message }) => message).join()).toContain(OURS);
  });
});
