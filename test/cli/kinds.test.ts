/** TRY-42: a text names the kinds, and gives the commands, of the cluster that it is about. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { installationResource, resources } from "../../src/api/resources.ts";
import { datastoreError } from "../../src/datastore/kubernetes-errors.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { KubeError, type ResourceType } from "../../src/kube/types.ts";
import { notInstalled } from "../../src/operator/cluster/blocked.ts";
import { configuration, pool, reservation } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { pod, sound } from "./sound.ts";

/** What no cluster of v1 has. Labels and annotations begin with `projectcalico.org/` in both groups. */
const V3_ONLY =
  /\bIPAMConfiguration\b|\bipamconfigurations\b|(?<!crd\.)\bprojectcalico\.org\/v3|\b[a-z]+s\.projectcalico\.org\b/;

const damaged: Snapshot = {
  ...sound,
  datastore: "crd.projectcalico.org/v1",
  pools: [...sound.pools, pool("broken", "10.1.0.0/28", { nodeSelector: "all(" })],
  reservations: [reservation("all", "10.0.0.0/28", "no range")],
  configurations: [
    configuration({ strictAffinity: false, autoAllocateBlocks: false, maxBlocksPerHost: 3 }),
    { ...configuration({}), metadata: { name: "other" } },
  ],
  pods: [...sound.pods!, pod("waiting", "node-b", [], { phase: "Pending" })],
  malformed: [{ kind: "IPAMConfiguration", name: "third", reason: "spec is missing" }],
};
const exclusive: Snapshot = { ...damaged, pools: sound.pools, configurations: [configuration({})] };

describe("on a cluster of crd.projectcalico.org/v1", () => {
  it.each([
    [["check"], 3],
    [["check", "-o", "wide"], 3],
    [["check", "-o", "json"], 3],
    [["why", "waiting"], 3],
    [["why", "--node", "node-b", "-o", "json"], 3],
    [["show", "--configuration"], 0],
  ])("%j names its kinds", async (args, code) => {
    for (const snapshot of [damaged, exclusive]) {
      const ran = await ipamctl(args, { snapshot });
      expect([ran.code, (ran.stdout + ran.stderr).match(V3_ONLY)?.[0]]).toEqual([code, undefined]);
    }
  });

  it("findings and commands are about IPAMConfig", async () => {
    const { items } = JSON.parse((await ipamctl(["check", "-o", "json"], { snapshot: damaged })).stdout);
    const of = (code: string) => items.find((item: { code: string }) => item.code === code);
    expect(of("InvalidConfiguration").object).toEqual({ kind: "IPAMConfig", name: "default" });
    expect(of("IgnoredConfiguration")).toMatchObject({
      object: { kind: "IPAMConfig", name: "other" },
      command: expect.stringContaining("kubectl edit ipamconfigs.crd.projectcalico.org other"),
    });
  });
});

it("on a cluster of projectcalico.org/v3 they are about IPAMConfiguration", async () => {
  const snapshot = { ...damaged, datastore: "projectcalico.org/v3" };
  const { stdout } = await ipamctl(["check", "-o", "json"], { snapshot });
  expect(stdout).toContain("kubectl edit ipamconfigurations.projectcalico.org other");
  expect(stdout).not.toMatch(/IPAMConfig\b|crd\.projectcalico/);
});

it.each(["v1", "v3"] as const)("the CRDs of %s are advised with the Kubernetes version that they need", (version) => {
  const { message } = notInstalled(resources.IPPool[version]);
  expect(message).toContain(`kubectl apply --server-side -f crds/${version}/ (Kubernetes 1.31 or later)`);
  expect(message).toContain(`--set ipamCRDs=${version}`);
  expect(message).toContain("Calico's own");
});

it("a kind that is not served is said with the way to install it", () => {
  const gone = new KubeError("NotFound", "the server could not find the requested resource");
  const said = (resource: ResourceType) => (datastoreError(gone, resource, "") as Error).message;
  expect(said(resources.IPPool.v1)).toMatch(
    /install the CRD ippools\.crd\.projectcalico\.org: kubectl .*crds\/v1\/ \(Kubernetes 1\.31 or later\), or helm /,
  );
  expect(said(installationResource)).toMatch(/-f crds\/ipam-operator\.io_ipaminstallations\.yaml$/);
  expect(said({ group: "kubevirt.io", version: "v1", kind: "VirtualMachine", plural: "virtualmachines" })).toMatch(
    /install the CRD virtualmachines\.kubevirt\.io$/,
  );
});

it("no sentence of the code has the kind's name of one group", () => {
  const root = join(import.meta.dirname, "../..");
  const files = ["src", "reconcilers"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => join(folder, name)),
  );
  const text = /(["'`])(?:(?!\1).)*(?:\bIPAMConfig(?:uration)? |[^"'`] ?IPAMConfig(?:uration)?\b)(?:(?!\1).)*\1/g;
  const found = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8")
        .replace(/^ *(\/\*\*|\*|\/\/).*$/gm, "")
        .matchAll(text),
    ].map(([sentence]) => `${file}: ${sentence}`),
  );
  expect(found).toEqual([]);
});
