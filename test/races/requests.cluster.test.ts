/** What calls cost, counted in requests on a real API server in both generations (never in time). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import type { Datastore, Kind, Stored } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, type LoggedRequest, startFaultProxy } from "../faults/proxy.ts";
import { pool, usedBlock } from "../support/ipam-data.ts";

const NODE = JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "host-a", labels: { rack: "r1" } } });

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let client: KubeClient;
  let datastore: CachedDatastore;
  let ipam: Ipam;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    proxy = await startFaultProxy(cluster);
    client = await connect({ kubeconfig: proxy.kubeconfig });
    datastore = cachedDatastore(openKubernetes({ client, flavour }));
    await datastore.synced();
    await cluster.kubectlOk(["create", "-f", "-"], { input: NODE });
    await datastore.create(pool("pool-a", "10.0.0.0/16"));
    ipam = createIpam({ datastore, hostname: "host-a" });
  });
  afterAll(async () => {
    await datastore?.close();
    await client?.close();
    await proxy?.stop();
    await cluster?.stop();
  });

  const assign = (handleID: string) => ipam.autoAssign({ num4: 1, handleID, intendedUse: "Workload" });
  /** The requests that a call makes: `POST ipamhandles`. */
  const requestsOf = async (call: () => Promise<unknown>) => {
    const before = proxy.requestsMatching({ watch: false }).length;
    await call();
    const made = proxy.requestsMatching({ watch: false }).slice(before);
    return made.map(({ method, path }) => `${method} ${path.split("/")[4]}`);
  };
  /** Until the watches have delivered what this process wrote, lists go to the server. */
  const warm = () => expect.poll(() => requestsOf(() => datastore.list("BlockAffinity"))).toEqual([]);

  test("autoAssign of one address: handle create, block update", async () => {
    await assign("first");
    await warm();
    for (const handle of ["second", "third"]) {
      expect(await requestsOf(() => assign(handle))).toEqual(["POST ipamhandles", "PUT ipamblocks"]);
    }
  });

  test("releaseByHandle: handle read, block update, handle marked and removed", async () => {
    for (const handle of ["kept", "released"]) await assign(handle);
    await warm();
    const requests = await requestsOf(() => ipam.releaseByHandle("released"));
    expect(requests).toEqual(["GET ipamhandles", "PUT ipamblocks", "PUT ipamhandles", "DELETE ipamhandles"]);
  });

  test("a short-lived process lists no blocks while its host's have room", async () => {
    const short = createIpam({ datastore: openKubernetes({ client, flavour }), hostname: "host-a" });
    const args = { num4: 1, intendedUse: "Workload" } as const;
    await short.autoAssign({ ...args, handleID: "short-1" });
    const requests = await requestsOf(() => short.autoAssign({ ...args, handleID: "short-2" }));
    const configurations = flavour === "v1" ? "ipamconfigs" : "ipamconfigurations";
    expect(requests.slice(0, 3).sort()).toEqual([`GET ${configurations}`, "GET ippools", "GET ipreservations"]);
    const rest = ["GET blockaffinities", "GET ipamblocks", "POST ipamhandles", "PUT ipamblocks"];
    expect(requests.slice(3)).toEqual(rest);
    expect(proxy.requestsMatching({ watch: false }).at(-3)?.path).toMatch(/ipamblocks\/10-0-/);
  });

  test("a short-lived process reads no node while no pool has a selector, and then one per call", async () => {
    const short = createIpam({ datastore: openKubernetes({ client, flavour }), hostname: "host-a" });
    const nodeReads = async () => {
      const args = { num4: 1, num6: 1, intendedUse: "Workload" } as const;
      const requests = await requestsOf(() => short.autoAssign(args));
      return requests.filter((request) => request === "GET host-a").length; // /api/v1/nodes/host-a
    };
    await datastore.create(pool("pool-b", "fd00::/112"));
    await nodeReads(); // the host's first block of the family: it must exist
    expect(await nodeReads()).toBe(0);
    await datastore.create(pool("pool-c", "10.1.0.0/16", { nodeSelector: 'rack == "r1"' }));
    await datastore.create(pool("pool-d", "fd01::/112", { nodeSelector: 'rack == "r1"' }));
    expect(await nodeReads()).toBe(1);
  });

  /** Lists of all blocks that a call makes; the pages of one count as one. */
  const blockListsOf = async (call: () => Promise<unknown>) => {
    const before = proxy.requestsMatching({ watch: false }).length;
    await call();
    const made = proxy.requestsMatching({ watch: false }).slice(before);
    const isList = ({ method, path, query }: LoggedRequest) =>
      method === "GET" && path.endsWith("/ipamblocks") && !query.has("continue");
    return made.filter(isList).length;
  };
  const uncached = () => openKubernetes({ client, flavour });
  const claimingHost = (hostname: string, store: Datastore = uncached()) =>
    createIpam({ datastore: store, hostname, nodes: async () => ({}), blockOrder: () => 0n });
  const claim = (host: string, store?: Datastore) =>
    claimingHost(host, store).autoAssign({ num4: 1, intendedUse: "Workload", ipv4Pools: ["10.9.0.0/16"] });

  test("a claim without caches lists the blocks twice, claimAffinity of many blocks too", async () => {
    await datastore.create(pool("pool-e", "10.9.0.0/16", { assignmentMode: "Manual", blockSize: 28 }));
    expect(await blockListsOf(() => claim("claimer-1"))).toBe(2);
    const owner = { affinityType: "host", host: "claimer-2" } as const;
    const all = () => claimingHost("claimer-2").claimAffinity("10.9.4.0/24", owner);
    expect(await blockListsOf(all)).toBe(2);
    expect(await blockListsOf(() => claimingHost("claimer-3").assignIP({ ip: "10.9.5.1" }))).toBe(2);
    const ensure = () =>
      claimingHost("claimer-4").ensureBlock({
        ipv4Pools: ["10.9.0.0/16"],
        hostReservedAttrIPv4s: { startOfBlock: 1, endOfBlock: 1, handle: "windows-reserved-ipam-handle", note: "" },
      });
    expect(await blockListsOf(ensure)).toBe(2);
  });

  test("a claim of a long-lived process lists no blocks", async () => {
    await warm();
    await expect.poll(() => requestsOf(() => datastore.list("IPAMBlock"))).toEqual([]);
    expect(await blockListsOf(() => claim("claimer-5", datastore))).toBe(0);
    await expect.poll(() => requestsOf(() => datastore.list("IPAMBlock"))).toEqual([]);
    const owner = { affinityType: "host", host: "claimer-6" } as const;
    const all = () => claimingHost("claimer-6", datastore).claimAffinity("10.9.6.0/26", owner);
    expect(await blockListsOf(all)).toBe(0);
  });

  test("a lost race costs one more list", async () => {
    const store = uncached();
    let rivals = 0;
    /** Before each of the first two blocks is created, another process has created one of another size there. */
    const contended: Datastore = Object.assign(Object.create(store) as Datastore, {
      get: store.get.bind(store),
      list: store.list.bind(store),
      update: store.update.bind(store),
      delete: store.delete.bind(store),
      listNames: store.listNames!.bind(store),
      create: async (object: Stored<Kind>) => {
        if (object.kind === "IPAMBlock" && rivals < 2) {
          const cidr = object.spec.cidr.replace("/28", "/29");
          rivals++;
          await store.create(usedBlock(cidr, "rival", { 0: { handle_id: "r", secondary: {} } }));
        }
        return store.create(object as never);
      },
    });
    expect(await blockListsOf(() => claim("claimer-7", contended))).toBe(4);
    expect(rivals).toBe(2);
  });

  test("a long-lived one follows the nodes: selectors cost no request", async () => {
    await warm();
    expect(await requestsOf(() => assign("fourth"))).toEqual(["POST ipamhandles", "PUT ipamblocks"]);
  });
});
