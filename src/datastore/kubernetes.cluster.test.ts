/** The Kubernetes datastore on a real API server, in both generations: the contract, the bytes stored, and the errors. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import type { KubeObject } from "../api/meta.ts";
import { connect } from "../kube/rest.ts";
import type { KubeClient } from "../kube/types.ts";
import { collect } from "./contract/collect.ts";
import { describeDatastoreContract } from "./contract/contract.ts";
import { affinityOf, blockOf, configurationOf, handleOf, MALFORMED, poolOf, samples } from "./contract/objects.ts";
import type { Datastore, Kind, Malformed } from "./datastore.ts";
import { apiGroups, codecOf, type Flavour } from "./flavours.ts";
import { openKubernetes } from "./kubernetes.ts";
import { marked } from "./rows.ts";

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let client: KubeClient;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    proxy = await startFaultProxy(cluster);
    client = await connect({ kubeconfig: proxy.kubeconfig });
  });
  afterAll(async () => {
    await client?.close();
    await proxy?.stop();
    await cluster?.stop();
  });
  afterEach(() => proxy.clear());

  const resource = (kind: Kind) => codecOf(flavour, kind).resource;
  const stored = (kind: Kind, name: string) => client.get<KubeObject>(resource(kind), name);
  const opened = async () => {
    await wipe(client, flavour);
    const datastore = openKubernetes({ client, flavour });
    const apiVersion = apiGroups[flavour];
    const putMalformed = async (name: string) => {
      const metadata = { name };
      const object = { apiVersion, kind: "IPAMHandle", metadata, spec: MALFORMED };
      await client.create<KubeObject>(resource("IPAMHandle"), object);
    };
    return { datastore, close: () => datastore.close(), putMalformed };
  };

  describeDatastoreContract(apiGroups[flavour], opened);

  describe("T71: bodies", () => {
    let datastore: Datastore;
    beforeEach(async () => {
      datastore = (await opened()).datastore;
    });
    const labels = {
      "projectcalico.org/affinity-type": "host",
      "projectcalico.org/hostname-hash": "PY3TQE2E3XMTETLM2MJO3UITKPFB27YUJ4T4E5XGPEJON3SM4QAA",
      "projectcalico.org/ip-version": "4",
    };
    const annotations = (text: object) =>
      flavour === "v1" ? { annotations: { "projectcalico.org/metadata": JSON.stringify(text) } } : {};

    test.each([
      ["block", "IPAMBlock", blockOf("10.0.0.0/30"), annotations({})],
      ["affinity", "BlockAffinity", affinityOf("node-a", "10.0.0.0/30"), { labels, ...annotations({ labels }) }],
      ["handle", "IPAMHandle", handleOf("k8s-pod-network.ABC"), annotations({})],
      ["config", "IPAMConfiguration", configurationOf(), annotations({})],
    ] as const)("a %s is stored as Calico stores it", async (_what, kind, object, metadata) => {
      await datastore.create(object);
      const { name } = object.metadata;
      const { metadata: found, ...rest } = await stored(kind, name);
      expect(rest).toMatchObject({ apiVersion: apiGroups[flavour], kind: resource(kind).kind });
      expect({ labels: found.labels, annotations: found.annotations }).toEqual({
        labels: undefined,
        annotations: undefined,
        ...metadata,
      });
      const deleted = flavour === "v1" && kind === "BlockAffinity" ? { deleted: "false" } : {};
      expect(rest.spec).toMatchObject({ ...object.spec, ...deleted });
    });

    test("the mark of deletion has the type of the generation", async () => {
      const affinity = await datastore.create(affinityOf("node-a", "10.0.0.0/30"));
      await datastore.update(marked(affinity));
      const { spec } = await stored("BlockAffinity", affinity.metadata.name);
      expect(spec).toMatchObject({ deleted: flavour === "v1" ? "true" : true });
      const block = await datastore.create(blockOf("10.0.0.0/30"));
      await datastore.update(marked<"IPAMBlock">(block));
      const { spec: blockSpec } = await stored("IPAMBlock", block.metadata.name);
      expect(blockSpec).toMatchObject({ deleted: true, sequenceNumber: block.spec.sequenceNumber });
    });

    test("labels and annotation are written anew with each update", async () => {
      const affinity = await datastore.create(affinityOf("node-a", "10.0.0.0/30"));
      const { labels: _labels, ...metadata } = affinity.metadata;
      await datastore.update({
        ...affinity,
        metadata,
        spec: { ...affinity.spec, state: "confirmed" },
      } as typeof affinity);
      const found = await stored("BlockAffinity", affinity.metadata.name);
      expect(found.metadata).toMatchObject({ labels, ...annotations({ labels }) });
    });

    test("an affinity older than types is labelled as a host's", async () => {
      const created = await datastore.create(affinityOf("node-a", "10.0.0.0/30", { type: undefined }));
      expect(created.metadata.labels).toEqual(labels);
    });
  });

  describe("errors", () => {
    let datastore: Datastore;
    beforeEach(async () => {
      datastore = (await opened()).datastore;
    });

    test.each([
      [401, "Unauthorized"],
      [403, "Unauthorized"],
      [500, "Unavailable"],
    ] as const)("%i is %s", async (status, code) => {
      proxy.fail({ path: resource("IPPool").plural }, { status, times: Number.POSITIVE_INFINITY });
      const signal = AbortSignal.timeout(20_000);
      await expect(datastore.create(poolOf("a", "10.0.0.0/16"), { signal })).rejects.toMatchObject({ code });
    });

    test("no permission says which to grant", async () => {
      const jane = await connect({ kubeconfig: cluster.kubeconfigFor(cluster.janeToken) });
      const refused = openKubernetes({ client: jane, flavour }).list("IPAMBlock");
      const { plural, group } = resource("IPAMBlock");
      await expect(refused).rejects.toMatchObject({
        code: "Unauthorized",
        message: expect.stringContaining(`${plural}.${group}`),
      });
      await jane.close();
    });

    test("a server that cannot be reached is Unavailable", async () => {
      await proxy.refuseAll();
      await expect(datastore.create(handleOf("a"))).rejects.toMatchObject({ code: "Unavailable" });
      await proxy.acceptAll();
    });

    test("an update without revision is never sent", async () => {
      const before = proxy.requests.length;
      await expect(datastore.update(handleOf("a"))).rejects.toMatchObject({ code: "Invalid" });
      expect(proxy.requests).toHaveLength(before);
    });

    test("a change slipped in before our PUT is a Conflict, before our DELETE too", async () => {
      const pool = await datastore.create(poolOf("a", "10.0.0.0/16"));
      const path = `${resource("IPPool").plural}/a`;
      const { plural, group } = resource("IPPool");
      let n = 0;
      const slipIn = () => cluster.kubectlOk(["annotate", "--overwrite", `${plural}.${group}`, "a", `n=${n++}`]);
      proxy.before({ method: "PUT", path }, slipIn, 1);
      await expect(datastore.update({ ...pool, spec: { ...pool.spec, disabled: true } })).rejects.toMatchObject({
        code: "Conflict",
      });
      const fresh = await datastore.get("IPPool", "a");
      proxy.before({ method: "DELETE", path }, slipIn, 1);
      await expect(datastore.delete(fresh)).rejects.toMatchObject({ code: "Conflict" });
    });

    test("a role that may not delete sees a marked row as not found", async () => {
      const handle = await datastore.create(handleOf("a"));
      await datastore.update(marked<"IPAMHandle">(handle));
      proxy.fail({ method: "DELETE" }, { status: 403, times: 1 });
      await expect(datastore.get("IPAMHandle", "a")).rejects.toMatchObject({ code: "NotFound" });
      expect(await stored("IPAMHandle", "a")).toMatchObject({ spec: { deleted: true } });
    });

    test("a deletion stopped between mark and removal is finished by the next reader", async () => {
      const handle = await datastore.create(handleOf("a"));
      proxy.fail({ method: "DELETE" }, { status: 500, times: 1 });
      await expect(datastore.delete(handle)).rejects.toMatchObject({ code: "Unavailable" });
      expect(await stored("IPAMHandle", "a")).toMatchObject({ spec: { deleted: true } });
      await expect(datastore.get("IPAMHandle", "a")).rejects.toMatchObject({ code: "NotFound" });
      await expect(stored("IPAMHandle", "a")).rejects.toMatchObject({ code: "NotFound" });
    });

    test("a deletion that another finishes after our mark is a success", async () => {
      const handle = await datastore.create(handleOf("a"));
      const finish = () =>
        openKubernetes({ client, flavour })
          .get("IPAMHandle", "a")
          .catch(() => {});
      const path = `${resource("IPAMHandle").plural}/a`;
      proxy.before({ method: "DELETE", path }, finish, 1);
      await datastore.delete(handle);
      await expect(stored("IPAMHandle", "a")).rejects.toMatchObject({ code: "NotFound" });
    });
  });

  describe("watch", () => {
    let datastore: Datastore;
    beforeEach(async () => {
      datastore = (await opened()).datastore;
    });
    const path = () => resource("IPPool").plural;

    test("goes on after a cut, without repeating or missing a change", async () => {
      const watch = collect(datastore, "IPPool");
      await datastore.create(poolOf("a", "10.0.0.0/16"));
      await watch.until(1);
      proxy.cutWatches({ path: path() });
      await datastore.create(poolOf("b", "10.1.0.0/16"));
      expect(await watch.until(2)).toEqual(["Added a", "Added b"]);
      await watch.stop();
    });

    test.each([true, false])(
      "410 (in the stream: %s) leads to a new list: the difference is shown",
      async (inStream) => {
        const gone = await datastore.create(poolOf("a", "10.0.0.0/16"));
        await datastore.create(poolOf("b", "10.1.0.0/16"));
        const watch = collect(datastore, "IPPool");
        await watch.until(2);
        proxy.expireWatch({ path: path() }, 1, { inStream });
        proxy.cutWatches({ path: path() });
        await datastore.delete(gone);
        await datastore.create(poolOf("c", "10.2.0.0/16"));
        expect((await watch.until(4)).slice(2).sort()).toEqual(["Added c", "Deleted a"]);
        await watch.stop();
      },
    );

    test("410 for a watch from the caller's list is the caller's: Expired", async () => {
      proxy.expireWatch({ path: path() }, 1, { inStream: true });
      const { revision } = await datastore.list("IPPool");
      await expect(collect(datastore, "IPPool", { revision }).until(1)).rejects.toMatchObject({ code: "Expired" });
    });

    test("ends with Unauthorized where it is refused", async () => {
      const jane = await connect({ kubeconfig: cluster.kubeconfigFor(cluster.janeToken) });
      const watch = collect(openKubernetes({ client: jane, flavour }), "IPPool");
      await expect(watch.until(1)).rejects.toMatchObject({ code: "Unauthorized" });
      await jane.close();
    });

    test("reports what it cannot read and goes on", async () => {
      const malformed: string[] = [];
      const onMalformed = ({ name }: Malformed) => malformed.push(name);
      const watch = collect(datastore, "IPAMHandle", { onMalformed });
      const { apiVersion, kind } = { apiVersion: apiGroups[flavour], kind: "IPAMHandle" };
      await client.create<KubeObject>(resource("IPAMHandle"), {
        apiVersion,
        kind,
        metadata: { name: "x" },
        spec: MALFORMED,
      });
      await datastore.create(handleOf("y"));
      expect(await watch.until(1)).toEqual(["Added y"]);
      expect(malformed).toEqual(["x"]);
      await watch.stop();
    });
  });

  test("a kind of the other generation is NotServed, naming the group that is in use", async () => {
    const other = flavour === "v1" ? "v3" : "v1";
    const datastore = openKubernetes({ client, flavour: other });
    const says = `(${apiGroups[other]}) is not served by the cluster; ${apiGroups[flavour]} is in use`;
    const notServed = { code: "NotServed", message: expect.stringContaining(says) };
    await expect(datastore.list("IPAMConfiguration")).rejects.toMatchObject(notServed);
    await expect(datastore.get("IPAMConfiguration", "default")).rejects.toMatchObject(notServed);
    await expect(datastore.create(configurationOf())).rejects.toMatchObject(notServed);
    await expect(collect(datastore, "IPAMConfiguration").until(1)).rejects.toMatchObject(notServed);
  });
});

async function wipe(client: KubeClient, flavour: Flavour): Promise<void> {
  for (const kind of Object.keys(samples) as Kind[]) {
    const { resource } = codecOf(flavour, kind);
    const { items } = await client.list<KubeObject>(resource);
    for (const { metadata } of items) await client.delete(resource, metadata.name);
  }
}
