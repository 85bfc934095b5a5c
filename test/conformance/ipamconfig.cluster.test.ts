/** The reference's configurations on a real API server, in both generations, and what went over the wire. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/api/meta.ts";
import { resources } from "../../src/api/resources.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { setIPAMConfig } from "../../src/ipam/config.ts";
import { connect } from "../../src/kube/rest.ts";
import { isKubeError, type KubeClient } from "../../src/kube/types.ts";
import { CONFIG_CASES, wordsOf } from "../admission/config-cases.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { replayConfigurations } from "./ipamconfig.ts";

describe.each(["v1", "v3"] as const)("%s", (generation) => {
  const resource = resources.IPAMConfiguration[generation];
  let cluster: ControlPlane;
  let client: KubeClient;
  let datastore: Datastore;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: generation });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    datastore = openKubernetes({ client, flavour: generation });
  });
  afterAll(async () => {
    await datastore?.close();
    await client?.close();
    await cluster?.stop();
  });

  const clear = async () => {
    for (const { metadata } of (await client.list(resource)).items) await client.delete(resource, metadata.name);
  };
  const raw = async (): Promise<KubeObject | undefined> => {
    const { items } = await client.list(resource);
    return items.find(({ metadata }) => metadata.name === "default");
  };
  const write = async (name: string, spec: Record<string, unknown>) => {
    const apiVersion = `${resource.group}/${resource.version}`;
    try {
      await client.create(resource, { apiVersion, kind: resource.kind, metadata: { name }, spec });
      return true;
    } catch (error) {
      if (isKubeError(error, "Invalid")) return false;
      throw error;
    }
  };

  const target = {
    datastore: () => datastore,
    clear,
    write,
    stored: async () => (await raw())?.spec,
    checksFields: true,
  };
  replayConfigurations(generation, target);

  it("writes what the reference writes, by one read and one PUT with the revision read", async () => {
    await write("default", { strictAffinity: false, autoAllocateBlocks: true });
    const before = (await cluster.auditLog()).length;
    await setIPAMConfig(datastore, { strictAffinity: true, maxBlocksPerHost: 5 });
    const requests = (await cluster.auditLog()).slice(before).filter(({ verb }) => verb !== "list");
    const ours = requests.filter((event) => event.objectRef?.resource === resource.plural);
    expect(ours.map(({ verb }) => verb)).toEqual(["get", "update"]);
    const golden = JSON.parse(
      readFileSync(join(import.meta.dirname, `../golden/ipamconfig.${generation}.json`), "utf8"),
    );
    const reference = JSON.parse(golden.table[7].bodies[0]);
    const { annotations } = (await raw())!.metadata;
    expect(annotations).toEqual(reference.metadata.annotations);
  });

  it.each(CONFIG_CASES)("set and get hold to the table: $name", async ({ spec, breaks }) => {
    const refused = await setIPAMConfig(datastore, spec).then(
      () => [],
      ({ details }) => details,
    );
    expect(refused).toEqual(breaks.map((name) => expect.stringContaining(wordsOf(name))));
  });
});
