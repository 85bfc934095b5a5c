import { expect, test } from "vitest";
import { installationResource, type Resource, resources, SOFT_DELETED_KINDS } from "./resources.ts";

const columns = ({ printerColumns }: Resource) =>
  printerColumns.map(({ name, type, jsonPath }) => `${name}=${jsonPath} (${type})`);

/** The resource table and the printer columns of the format description, as text. */
test.each([
  [
    "IPAMBlock",
    "IPAMBlock/ipamblocks",
    "IPAMBlock/ipamblocks",
    "ipamblock",
    [],
    ["CIDR=.spec.cidr (string)", "Affinity=.spec.affinity (string)", "ClaimTime=.spec.affinityClaimTime (date)"],
  ],
  [
    "BlockAffinity",
    "BlockAffinity/blockaffinities",
    "BlockAffinity/blockaffinities",
    "blockaffinity",
    ["affinity", "affinities"],
    ["CIDR=.spec.cidr (string)", "Node=.spec.node (string)", "Type=.spec.type (string)"],
  ],
  ["IPAMHandle", "IPAMHandle/ipamhandles", "IPAMHandle/ipamhandles", "ipamhandle", [], ["ID=.spec.handleID (string)"]],
  [
    "IPAMConfiguration",
    "IPAMConfig/ipamconfigs",
    "IPAMConfiguration/ipamconfigurations",
    "ipamconfiguration",
    ["ipamconfig", "ipamconfigs"],
    [
      "StrictAffinity=.spec.strictAffinity (boolean)",
      "MaxBlocksPerHost=.spec.maxBlocksPerHost (integer)",
      "AutoAllocateBlocks=.spec.autoAllocateBlocks (boolean)",
    ],
  ],
  [
    "IPPool",
    "IPPool/ippools",
    "IPPool/ippools",
    "ippool",
    [],
    [
      "CIDR=.spec.cidr (string)",
      "VXLAN=.spec.vxlanMode (string)",
      "IPIP=.spec.ipipMode (string)",
      "NAT=.spec.natOutgoing (boolean)",
      "Allocatable=.status.conditions[?(@.type=='Allocatable')].status (string)",
      "Age=.metadata.creationTimestamp (date)",
    ],
  ],
  ["IPReservation", "IPReservation/ipreservations", "IPReservation/ipreservations", "ipreservation", [], []],
] as const)("%s", (kind, inV1, inV3, singular, shortNames, printed) => {
  const { v1, v3 } = resources[kind];
  expect(v1).toMatchObject({ group: "crd.projectcalico.org", version: "v1", shortNames: [], printerColumns: [] });
  expect(v3).toMatchObject({ group: "projectcalico.org", version: "v3", singular, shortNames });
  expect([`${v1.kind}/${v1.plural}`, `${v3.kind}/${v3.plural}`]).toEqual([inV1, inV3]);
  expect(columns(v3)).toEqual(printed);
  for (const resource of [v1, v3]) {
    expect(resource.statusSubresource).toBe(kind === "IPPool");
    expect(resource.singular).toBe(resource.kind.toLowerCase());
    expect(resource.namespaced).toBeUndefined();
  }
});

test("only blocks, affinities and handles are marked before they are deleted", () => {
  expect(SOFT_DELETED_KINDS).toEqual(["IPAMBlock", "BlockAffinity", "IPAMHandle"]);
});

test("the Installation takes no name that Calico's operator uses", () => {
  const { kind, plural, singular, shortNames, categories } = installationResource;
  expect(kind).toBe("Installation");
  expect([plural, singular, ...shortNames]).toEqual(["ipaminstallations", "ipaminstallation", "ipaminst"]);
  expect(categories).toEqual(["ipam-operator"]);
});
