/** The CRDs' chart on a real API server: what it installs, what it refuses to touch, and what stays. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { deleteCrds } from "../support/delete-crds.ts";
import { helmOk } from "./helm.ts";
import { PREVIOUS } from "./previous.ts";
import { CRDS_RELEASE, type Releases, releasesOn } from "./releases.ts";

let cluster: ControlPlane;
let releases: Releases;
beforeAll(async () => {
  cluster = await startControlPlane();
  releases = releasesOn(cluster);
});
afterAll(() => cluster?.stop());
afterEach(async () => {
  await releases.helm(["uninstall", CRDS_RELEASE]);
  await cluster.kubectlOk(["delete", "apiservice", "v3.projectcalico.org", "--ignore-not-found"]);
  await deleteCrds(cluster);
});

const crds = async () =>
  (await cluster.kubectlOk(["get", "crds", "-o", "jsonpath={.items[*].metadata.name}"])).split(" ").filter(Boolean);
const IPAM_KINDS = ["ipamblocks", "blockaffinities", "ipamhandles", "ippools", "ipreservations"];
const V1 = [...IPAM_KINDS, "ipamconfigs"].map((plural) => `${plural}.crd.projectcalico.org`);
const V3 = [...IPAM_KINDS, "ipamconfigurations"].map((plural) => `${plural}.projectcalico.org`);
const INSTALLATION = "ipaminstallations.ipam-operator.io";

async function refused(ipamCRDs: "v1" | "v3"): Promise<string> {
  const { code, stderr } = await releases.helm(["install", CRDS_RELEASE, "helm/ipam-operator-crds"], { ipamCRDs });
  expect(code).toBe(1);
  return stderr;
}

test.each([
  ["none", []],
  ["v1", V1],
  ["v3", V3],
] as const)("ipamCRDs: %s installs what it says, and all of it stays, with its objects", async (ipamCRDs, names) => {
  await releases.crds("install", { ipamCRDs });
  expect((await crds()).sort()).toEqual([INSTALLATION, ...names].sort());
  await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", "crds", "--all"]);
  await cluster.apply("examples/installation.yaml");
  await releases.helmOk(["uninstall", CRDS_RELEASE]);
  expect((await crds()).sort()).toEqual([INSTALLATION, ...names].sort());
  await cluster.kubectlOk(["get", "ipaminst", "default"]);
});

// Its expressions are as new as Kubernetes 1.30, which takes them in new CRDs from 1.31 on.
test.each(["v1", "v3"] as const)("for Kubernetes 1.30 the %s pool has every rule but those", async (ipamCRDs) => {
  const render = (version: string) =>
    helmOk(["template", CRDS_RELEASE, "helm/ipam-operator-crds", `--kube-version=${version}`], {
      values: { ipamCRDs },
    });
  const [older, newer] = [await render("1.30.0"), await render("1.31.0-eks-1")];
  expect(newer).toMatch(/\b(cidr|isCIDR)\(/);
  expect(older).not.toMatch(/\b(cidr|isCIDR)\(/);
  const rules = (text: string) => text.match(/^ *- rule: .*$/gm)!;
  expect(rules(older).sort()).toEqual(
    rules(newer)
      .filter((rule) => !/\b(cidr|isCIDR)\(/.test(rule))
      .sort(),
  );
  await cluster.kubectlOk(["apply", "--dry-run=server", "--filename", "-"], { input: older });
});

test("installed again, it takes up what it left", async () => {
  await releases.crds("install", { ipamCRDs: "v3" });
  await releases.helmOk(["uninstall", CRDS_RELEASE]);
  await releases.crds("install", { ipamCRDs: "v3" });
});

test("asked for no longer, the IPAM CRDs stay", async () => {
  await releases.crds("install", { ipamCRDs: "v1" });
  await releases.crds("upgrade", { ipamCRDs: "none" });
  expect((await crds()).sort()).toEqual([INSTALLATION, ...V1].sort());
});

test("from the previous version to this one and back", async () => {
  await releases.crds("install", { ipamCRDs: "v3" }, PREVIOUS.crds);
  await releases.crds("upgrade", { ipamCRDs: "v3" });
  await releases.helmOk(["rollback", CRDS_RELEASE, "1"]);
  expect((await crds()).sort()).toEqual([INSTALLATION, ...V3].sort());
});

test.each(["v1", "v3"] as const)(
  "Calico's own CRDs in %s form are left alone, whichever form is asked for",
  async (form) => {
    await cluster.kubectlOk(["apply", "--server-side", "--filename", `crds/${form}/`]);
    const [first] = form === "v1" ? V1 : V3;
    for (const ipamCRDs of ["v1", "v3"] as const) {
      expect(await refused(ipamCRDs)).toContain(
        `ipamCRDs: ${ipamCRDs}, but this cluster has the CRD ${first}, which this chart did not make ` +
          "(no label app.kubernetes.io/part-of: ipam-operator): Calico, or somebody else, keeps these kinds. " +
          "Set ipamCRDs: none",
      );
    }
    expect((await crds()).sort()).toEqual([...(form === "v1" ? V1 : V3)].sort());
    await releases.crds("install", { ipamCRDs: "none" });
  },
);

test("one of Calico's CRDs is enough", async () => {
  await cluster.kubectlOk(["apply", "--server-side", "--filename", "crds/v3/projectcalico.org_ipreservations.yaml"]);
  expect(await refused("v3")).toContain("this cluster has the CRD ipreservations.projectcalico.org");
});

test("data that is kept in the other form is not left behind", async () => {
  await releases.crds("install", { ipamCRDs: "v1" });
  const { code, stderr } = await releases.helm(["upgrade", CRDS_RELEASE, "helm/ipam-operator-crds"], {
    ipamCRDs: "v3",
  });
  expect(code).toBe(1);
  expect(stderr).toContain(
    "ipamCRDs: v3, but this cluster keeps its IPAM data in v1 form (CRD ipamblocks.crd.projectcalico.org)",
  );
  expect(stderr).toContain("Set ipamCRDs: v1");
});

test("Calico's aggregated API server is not pushed aside", async () => {
  await cluster.apply(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v3.projectcalico.org}
spec:
  group: projectcalico.org
  version: v3
  groupPriorityMinimum: 1500
  versionPriority: 200
  insecureSkipTLSVerify: true
  service: {namespace: calico-apiserver, name: calico-api}
`);
  expect(await refused("v3")).toContain(
    "ipamCRDs: v3, but API group projectcalico.org is served by an aggregated API server " +
      "(APIService v3.projectcalico.org, Service calico-apiserver/calico-api)",
  );
  expect(await crds()).toEqual([]);
  await releases.crds("install", { ipamCRDs: "none" });
});
