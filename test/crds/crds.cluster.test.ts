/** The generated CRDs on a real API server: accepted, complete, described, and as Calico's. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installationResource, resources } from "../../src/api/resources.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { FIELD_TABLES, fieldTable, type ServedSchema } from "./field-tables.ts";

interface ServedCrd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly names: Record<string, unknown>;
    readonly versions: {
      readonly subresources?: object;
      readonly schema: { readonly openAPIV3Schema: ServedSchema };
    }[];
  };
  readonly status: { readonly conditions: { readonly type: string; readonly status: string }[] };
}

let cluster: ControlPlane;
let crds: Map<string, ServedCrd>;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  const list = JSON.parse(await cluster.kubectlOk(["get", "crds", "--output", "json"]));
  crds = new Map(list.items.map((crd: ServedCrd) => [crd.metadata.name, crd]));
});
afterAll(() => cluster?.stop());

const kinds = Object.keys(FIELD_TABLES) as IpamKind[];
const generations = kinds.flatMap((kind) => (["v1", "v3"] as const).map((generation) => [kind, generation] as const));
const served = (kind: IpamKind, generation: "v1" | "v3") => {
  const { plural, group } = resources[kind][generation];
  return crds.get(`${plural}.${group}`)!;
};
const schemaOf = (crd: ServedCrd) => crd.spec.versions[0]!.schema.openAPIV3Schema;

it("are all established, structural, with CEL that compiled", () => {
  expect(crds.size).toBe(13);
  for (const { metadata, status } of crds.values()) {
    const conditions = Object.fromEntries(status.conditions.map(({ type, status }) => [type, status]));
    expect(conditions, metadata.name).toEqual({ NamesAccepted: "True", Established: "True" });
  }
});

it("prune what they do not know, as Calico's do", () => {
  for (const crd of crds.values()) expect(JSON.stringify(crd)).not.toContain("x-kubernetes-preserve-unknown-fields");
});

describe.each(generations)("%s in %s", (kind, generation) => {
  it("has the fields of Calico's table", () => {
    const table = Object.entries(FIELD_TABLES[kind]).map(([name, field]) => [
      name,
      typeof field === "string" ? field : field[generation === "v1" ? 0 : 1],
    ]);
    expect(fieldTable(schemaOf(served(kind, generation)).properties!["spec"]!)).toEqual(Object.fromEntries(table));
  });

  it("requires metadata and spec in v3 only", () => {
    expect(schemaOf(served(kind, generation)).required).toEqual(generation === "v3" ? ["metadata", "spec"] : undefined);
  });

  it("has a status subresource only where it is a pool", () => {
    const subresources = served(kind, generation).spec.versions[0]?.subresources ?? {};
    expect(subresources).toEqual(kind === "IPPool" ? { status: {} } : {});
  });
});

it("describe every field", () => {
  const undescribed = ({ description, properties, items }: ServedSchema, path: string): string[] => [
    ...(description || path.endsWith(".metadata") || path.endsWith("[]") ? [] : [path]),
    ...Object.entries(properties ?? {}).flatMap(([name, property]) => undescribed(property, `${path}.${name}`)),
    ...(items ? undescribed(items, `${path}[]`) : []),
  ];
  expect([...crds].flatMap(([name, crd]) => undescribed(schemaOf(crd), name))).toEqual([]);
});

it("explain themselves to kubectl", async () => {
  const installation = await cluster.kubectlOk(["explain", "ipaminstallations.spec.ipam"]);
  expect(installation).toContain("maxBlocksPerHost");
  expect(installation).toContain("0 means the default, 20");
  const config = await cluster.kubectlOk(["explain", "ipamconfigs.spec", "--api-version", "crd.projectcalico.org/v1"]);
  expect(config).toMatch(/autoAllocateBlocks\s+<boolean> -required-/);
});

/** The header line of `kubectl get`, of a kind that has one object. */
const header = async (...args: string[]) => (await cluster.kubectlOk(["get", ...args])).split("\n")[0]?.split(/\s+/);

it("print Calico's columns in v3 and only the age in v1", async () => {
  await cluster.apply(
    ["crd.projectcalico.org/v1, kind: IPAMConfig", "projectcalico.org/v3, kind: IPAMConfiguration"]
      .map(
        (kind) =>
          `{apiVersion: ${kind}, metadata: {name: default}, spec: {strictAffinity: true, autoAllocateBlocks: true}}`,
      )
      .join("\n---\n"),
  );
  await cluster.apply(
    "{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: p}, spec: {cidr: 10.0.0.0/16}}\n",
  );
  expect(await header("ipamconfigs.v1.crd.projectcalico.org")).toEqual(["NAME", "AGE"]);
  const config = ["NAME", "STRICTAFFINITY", "MAXBLOCKSPERHOST", "AUTOALLOCATEBLOCKS"];
  expect(await header("ipamconfigurations")).toEqual(config);
  expect(await header("ippools.projectcalico.org")).toEqual([
    "NAME",
    "CIDR",
    "VXLAN",
    "IPIP",
    "NAT",
    "ALLOCATABLE",
    "AGE",
  ]);
});

it("let an Installation be found by its names, and print what a person asks first", async () => {
  const { plural, singular, shortNames, categories } = installationResource;
  expect(crds.get("ipaminstallations.ipam-operator.io")?.spec.names).toMatchObject({
    kind: "Installation",
    plural: "ipaminstallations",
    singular: "ipaminstallation",
    shortNames: ["ipaminst"],
    categories: ["ipam-operator"],
  });
  await cluster.apply(
    "{apiVersion: ipam-operator.io/v1alpha1, kind: Installation, metadata: {name: default}, spec: {managementPolicy: Enforce}}\n",
  );
  const columns = ["NAME", "READY", "REASON", "POLICY", "STRICT", "MAXBLOCKS", "COOLDOWN"];
  for (const name of [plural, singular, ...shortNames, ...categories])
    expect(await header(name)).toEqual([...columns, "AGE"]);
  expect(await header("ipaminst", "--output", "wide")).toEqual([...columns, "MESSAGE", "AGE"]);
});

it("leave `kubectl get installation` to Calico's operator", async () => {
  const names = {
    kind: "Installation",
    listKind: "InstallationList",
    plural: "installations",
    singular: "installation",
  };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const calicos = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "installations.operator.tigera.io" },
    spec: {
      group: "operator.tigera.io",
      scope: "Cluster",
      names,
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  await cluster.apply(`${JSON.stringify(calicos)}\n`);
  await cluster.kubectlOk(["wait", "--for=condition=Established", "crd/installations.operator.tigera.io"]);
  await cluster.apply("{apiVersion: operator.tigera.io/v1, kind: Installation, metadata: {name: theirs}}\n");
  await cluster.apply(
    "{apiVersion: ipam-operator.io/v1alpha1, kind: Installation, metadata: {name: default}, spec: {managementPolicy: Enforce}}\n",
  );
  for (const name of ["installation", "installations", "Installation"]) {
    expect(await cluster.kubectlOk(["get", name, "--output", "name"])).toBe("installation.operator.tigera.io/theirs\n");
  }
  expect(await cluster.kubectlOk(["get", "ipaminst", "--output", "name"])).toBe(
    "installation.ipam-operator.io/default\n",
  );
});
