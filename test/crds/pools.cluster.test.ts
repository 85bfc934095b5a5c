/** What a pool may be, judged at the door: case CRD-01 and the pools of input 07, in both generations through kubectl. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
});
afterAll(() => cluster?.stop());

const generations = ["crd.projectcalico.org/v1", "projectcalico.org/v3"];
const pool = (apiVersion: string, name: string, spec: string) =>
  `{apiVersion: ${apiVersion}, kind: IPPool, metadata: {name: ${name}}, spec: ${spec}}\n`;
const create = (input: string) => cluster.kubectl(["create", "--filename", "-"], { input });

const REFUSED: readonly (readonly [why: string, spec: string, ...says: string[]])[] = [
  ["host bits", "{cidr: 192.168.0.1/24}", "spec.cidr", "strictly masked"],
  ["host bits, v6", '{cidr: "fd00::1/64"}', "spec.cidr", "strictly masked"],
  ["within v4 link local", "{cidr: 169.254.0.0/20}", "spec.cidr", "169.254.0.0/16"],
  ["around v4 link local", "{cidr: 168.0.0.0/5}", "spec.cidr", "169.254.0.0/16"],
  ["v6 link local", '{cidr: "fe80::/64"}', "spec.cidr", "fe80::/10"],
  ["no range", "{cidr: ten}", "spec.cidr", "must be of type cidr"],
  ["leading zeros", "{cidr: 010.0.0.0/24}", "spec.cidr", "without leading zeros"],
  ["no cidr", "{natOutgoing: true}", "spec.cidr", "Required value"],
  ["block of 19", "{cidr: 10.0.0.0/16, blockSize: 19}", "spec.blockSize", "from 20 to 32"],
  ["block of 33", "{cidr: 10.0.0.0/16, blockSize: 33}", "spec.blockSize", "from 20 to 32"],
  ["v6 block of 115", '{cidr: "fd00::/64", blockSize: 115}', "spec.blockSize", "from 116 to 128"],
  ["v6 block of 129", '{cidr: "fd00::/64", blockSize: 129}', "spec.blockSize", "less than or equal to 128"],
  ["block larger than the pool", "{cidr: 10.0.0.0/28, blockSize: 26}", "smaller than one block"],
  ["default block larger than the pool", "{cidr: 10.0.0.0/27}", "smaller than one block"],
  ["v6 default block larger than the pool", '{cidr: "fd00::/124"}', "smaller than one block"],
  ["two encapsulations", "{cidr: 10.0.0.0/16, ipipMode: Always, vxlanMode: CrossSubnet}", "cannot both be on"],
  ["IP-in-IP on IPv6", '{cidr: "fd00::/64", ipipMode: Always}', "spec.ipipMode", "must be Never for an IPv6 pool"],
  ["no such mode", "{cidr: 10.0.0.0/16, vxlanMode: Sometimes}", "spec.vxlanMode", "Unsupported value"],
  [
    "everything a LoadBalancer pool must not",
    "{cidr: 10.0.0.0/16, allowedUses: [LoadBalancer, Workload], vxlanMode: Always, disableBGPExport: true, nodeSelector: a}",
    "must not use ipipMode or vxlanMode",
    "cannot be combined with Workload or Tunnel",
    "must not set disableBGPExport",
    "must have nodeSelector: all()",
  ],
  [
    "tunnel addresses by namespace",
    "{cidr: 10.0.0.0/16, allowedUses: [Tunnel], namespaceSelector: a}",
    "must not set namespaceSelector",
  ],
];

const ACCEPTED: readonly (readonly [why: string, spec: string])[] = [
  ["the least", "{cidr: 10.0.0.0/16}"],
  ["one block of the default size", "{cidr: 10.0.0.0/26}"],
  ["block size 0 means the default", '{cidr: "fd00::/122", blockSize: 0}'],
  ["too small, but disabled", "{cidr: 10.0.0.0/28, disabled: true}"],
  ["a LoadBalancer pool", "{cidr: 10.0.0.0/16, allowedUses: [LoadBalancer], ipipMode: Never}"],
  ["a workload pool by namespace", "{cidr: 10.0.0.0/16, allowedUses: [Workload], namespaceSelector: a == 'b'}"],
  ["VXLAN on IPv6", '{cidr: "fd00::/64", vxlanMode: Always}'],
];

describe.each(generations)("CRD-01 in %s", (apiVersion) => {
  it.each(REFUSED)("refuses %s: %s", async (_, spec, ...says) => {
    const { code, stderr } = await create(pool(apiVersion, "refused", spec));
    expect(code).toBe(1);
    for (const text of says) expect(stderr).toContain(text);
  });

  it.each(ACCEPTED)("accepts %s: %s", async (why, spec) => {
    const name = `accepted-${why.replaceAll(/\W+/g, "-").toLowerCase()}`;
    expect((await create(pool(apiVersion, name, spec))).stderr).toBe("");
  });

  it("lets neither cidr nor blockSize change, and everything else", async () => {
    const apply = (spec: string) =>
      cluster.kubectl(["apply", "--filename", "-"], { input: pool(apiVersion, "changing", spec) });
    expect((await apply("{cidr: 10.0.0.0/16, blockSize: 26}")).code).toBe(0);
    expect((await apply("{cidr: 10.1.0.0/16, blockSize: 26}")).stderr).toContain("cidr cannot be changed");
    expect((await apply("{cidr: 10.0.0.0/16, blockSize: 28}")).stderr).toContain("blockSize cannot be changed");
    expect((await apply("{cidr: 10.0.0.0/16, blockSize: 26, disabled: true}")).code).toBe(0);
  });

  it("input 07: judges each of the odd block sizes", async () => {
    const text = await readFile(join(import.meta.dirname, "../cases/inputs/07-ippools-odd-block-sizes.yaml"), "utf8");
    const verdicts = new Map<string, string>();
    for (const document of parseAllDocuments(text)) {
      const input = JSON.stringify({ ...document.toJS(), apiVersion });
      verdicts.set(document.toJS().metadata.name, (await create(input)).stderr);
    }
    expect(verdicts.get("v6-64-per-node")).toContain("blockSize of an IPv6 pool must be from 116 to 128");
    expect(verdicts.get("link-local")).toContain("link-local range 169.254.0.0/16");
    const accepted = [...verdicts].filter(([, stderr]) => stderr === "").map(([name]) => name);
    const masked = ["one-block-only", "single-address-blocks", "two-address-blocks", "v6-wide-blocks"];
    expect(accepted).toEqual([...masked, "nobody", "nobody-spaced"]);
  });
});

it("CRD-01: a pool stored unmasked before the rule can still be changed where it is not at fault", async () => {
  const manifest = await readFile(join(import.meta.dirname, "../../crds/v3/projectcalico.org_ippools.yaml"), "utf8");
  const apply = (input: string) => cluster.kubectlOk(["apply", "--server-side", "--filename", "-"], { input });
  const withoutRules = parse(manifest);
  const { spec } = withoutRules.spec.versions[0].schema.openAPIV3Schema.properties;
  delete spec["x-kubernetes-validations"];
  delete spec.properties.cidr["x-kubernetes-validations"];
  await apply(stringify(withoutRules));
  const stored = pool("projectcalico.org/v3", "unmasked", "{cidr: 10.3.0.1/24}");
  await expect.poll(async () => (await create(stored)).code).toBe(0);
  await apply(manifest);
  const unmasked = pool("projectcalico.org/v3", "unmasked-too", "{cidr: 10.4.0.1/24}");
  const probe = ["create", "--dry-run=server", "--filename", "-"];
  await expect
    .poll(async () => (await cluster.kubectl(probe, { input: unmasked })).stderr)
    .toContain("strictly masked");
  expect(await cluster.kubectlOk(["get", "ippools.v3.projectcalico.org", "unmasked"])).toContain("10.3.0.1/24");
  await cluster.kubectlOk([
    "patch",
    "ippools.v3.projectcalico.org",
    "unmasked",
    "--type=merge",
    "--patch",
    '{"spec":{"disabled":true}}',
  ]);
  await cluster.kubectlOk(["delete", "ippools.v3.projectcalico.org", "unmasked"]);
});
