/** What calls cost, counted in requests on a real API server in both generations (never in time). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { pool } from "../support/ipam-data.ts";

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

  test("a long-lived one follows the nodes: selectors cost no request", async () => {
    await warm();
    expect(await requestsOf(() => assign("fourth"))).toEqual(["POST ipamhandles", "PUT ipamblocks"]);
  });
});
