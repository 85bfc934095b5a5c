/** What calls of a long-lived process cost, counted in requests on a real API server in both generations (never in time). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { pool } from "../support/ipam-data.ts";

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
    const signal = new AbortController().signal;
    datastore = cachedDatastore(() => openKubernetes({ client, flavour }), { signal });
    await datastore.synced();
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
});
