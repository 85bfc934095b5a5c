/** Cached reads on a real API server, in both generations: the contract. What calls cost is counted in test/races. */
import { afterAll, beforeAll, describe } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { deleteAll } from "../../test/support/cluster-store.ts";
import type { KubeObject } from "../api/meta.ts";
import { connect } from "../kube/rest.ts";
import type { KubeClient } from "../kube/types.ts";
import { CACHED_KINDS, cachedDatastore } from "./cached.ts";
import { describeDatastoreContract } from "./contract/contract.ts";
import { MALFORMED } from "./contract/objects.ts";
import type { Kind } from "./datastore.ts";
import { apiGroups, codecOf } from "./flavours.ts";
import { openKubernetes } from "./kubernetes.ts";

const EVERY_KIND: readonly Kind[] = [...CACHED_KINDS, "IPAMHandle", "Installation"];

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
  });
  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  const resource = (kind: Kind) => codecOf(flavour, kind).resource;
  describeDatastoreContract(`cached, over ${apiGroups[flavour]}`, async () => {
    await deleteAll(cluster, flavour, EVERY_KIND);
    const heard = Promise.withResolvers<void>();
    const onMalformed = () => heard.resolve();
    const datastore = cachedDatastore(openKubernetes({ client, flavour }), { kinds: EVERY_KIND, onMalformed });
    await datastore.synced();
    const putMalformed = async (name: string) => {
      const object = { apiVersion: apiGroups[flavour], kind: "IPAMHandle", metadata: { name }, spec: MALFORMED };
      await client.create<KubeObject>(resource("IPAMHandle"), object);
      await heard.promise; // what a cache promises begins when the watch has delivered it
    };
    return { datastore, close: () => datastore.close(), putMalformed };
  });
});
