/** Asks `why` about a site, runs what it says, and asks the library for the address. */
import { expect } from "vitest";
import { parse } from "yaml";
import type { IPPool } from "../../src/api/v3.ts";
import { createIpam } from "../../src/ipam/client.ts";
import type { Labelled } from "../../src/ipam/nodes.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import type { CauseCode } from "../../src/judgement/why/codes.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { NOW } from "./sound.ts";
import type { Site } from "./writing-site.ts";

export interface Answer {
  readonly state: string;
  readonly summary: string;
  readonly causes: readonly { readonly code: CauseCode; readonly message: string; readonly command: string }[];
}

/** As on a cluster: there, kubectl's commands are advised. */
export async function whyOn(site: Site, asked: readonly string[] = ["waiting"], now = NOW): Promise<Answer> {
  const snapshot: Snapshot = { ...(await site.snapshot()), datastore: "projectcalico.org/v3" };
  const { stdout, stderr } = await ipamctl(["why", ...asked, "-o", "json"], { snapshot, now: () => now });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const words = (command: string) => [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);

export async function carryOut(site: Site, command: string): Promise<void> {
  const [tool, verb, ...rest] = words(command);
  if (tool === "ipamctl") {
    const grace = verb === "gc" || verb === "repair" ? ["--grace", "0"] : [];
    const copy = verb === "repair" ? ["--copy", scratchFile("copy.jsonl")] : [];
    const ran = await site.run([verb!, ...rest, ...grace, ...copy, "--yes"]);
    expect(ran.code, `${command}: ${ran.stderr}${ran.stdout}`).toBe(0);
  } else if (command.startsWith("kubectl delete pod -n ")) {
    const [namespace, name] = rest.slice(-2);
    const { pods = [] } = await site.snapshot();
    site.around({ pods: pods.filter((pod) => pod.namespace !== namespace || pod.name !== name) });
  } else if (command.startsWith("kubectl patch ippools.projectcalico.org ")) {
    const patch = parse(rest.at(-1)!) as Pick<IPPool, "spec">;
    await site.change(async (store) => {
      const found = await store.get("IPPool", rest[1]!);
      await store.update({ ...found, spec: { ...found.spec, ...patch.spec } });
    });
  } else if (command === "calicoctl datastore migrate unlock") {
    const { clusterInformation } = await site.snapshot();
    site.around({ clusterInformation: { ...clusterInformation!, ready: true } });
  } else {
    throw new Error(`this changes nothing: ${command}`);
  }
}

/** What the library gives the pod that waits. */
export async function nextAddresses(site: Site): Promise<readonly string[]> {
  const { nodes = [], namespaces = [], pods = [] } = await site.snapshot();
  const labelsOf = (list: readonly { name: string; labels: object }[], wanted: string) =>
    ({ metadata: { labels: list.find(({ name }) => name === wanted)?.labels ?? {} } }) as Labelled;
  const { askedAddresses: [ip] = [] } = pods.find(({ name }) => name === "waiting")!;
  let given: readonly string[] = [];
  await site.change(async (datastore) => {
    const nodesOf = async (name: string) => labelsOf(nodes, name);
    const ipam = createIpam({ datastore, clock: () => NOW, windowsHost: false, nodes: nodesOf });
    const args = { hostname: "node-a", handleID: "next", intendedUse: "Workload" } as const;
    if (ip !== undefined) {
      await ipam.assignIP({ ...args, ip });
      given = [ip];
      return;
    }
    const { v4 } = await ipam.autoAssign({ ...args, num4: 1, namespace: labelsOf(namespaces, "shop") });
    given = v4!.ips;
  });
  return given;
}
