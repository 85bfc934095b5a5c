/** What kubectl tells a person about the product, what the API server refuses, and Calico's Installation beside ours. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { calicoInstallationCrd } from "../installation/fixtures.ts";
import { userOf } from "../installation/user.ts";
import { e2eCluster } from "./cluster.ts";
import { installed, upgraded } from "./product.ts";

const cluster = e2eCluster();
const user = userOf(cluster, "v3");
beforeAll(installed, 600_000);
beforeEach(() => user.reset());

const enforced = async () => {
  await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
  expect(await user.wait("Ready")).toMatchObject({ code: 0 });
};

describe("kubectl explain", () => {
  it("describes every field that a user writes, with its unit and its limits", async () => {
    const text = await cluster.kubectlOk(["explain", "ipaminst.spec.ipam"]);
    const fields = text.split(/^ {2}(?=\w+\t)/m).slice(1);
    expect(fields.map((field) => field.split("\t")[0])).toContain("ipCooldownSeconds");
    for (const field of fields) expect(field.split("\n")[1]?.trim()).not.toMatch(/^$|<no description>/);
    expect(await cluster.kubectlOk(["explain", "ipaminst.spec.managementPolicy"])).toMatch(/Observe.*Enforce.*Paused/s);
    expect(await cluster.kubectlOk(["explain", "ipaminst.status.conditions"])).toContain("DESCRIPTION:");
  });
});

describe("kubectl get and kubectl wait", () => {
  it("has columns for what one asks first, and the message when one wants more", async () => {
    await enforced();
    const titles = async (...flags: string[]) =>
      (await cluster.kubectlOk(["get", "ipaminst", ...flags])).split("\n")[0]?.trim().split(/ {2,}/);
    const first = ["NAME", "READY", "REASON", "POLICY", "STRICT", "MAXBLOCKS", "COOLDOWN"];
    expect(await titles()).toEqual([...first, "AGE"]);
    expect(await titles("--output", "wide")).toEqual([...first, "MESSAGE", "AGE"]);
  });

  it("finds it by its category and short name, and waits for each condition", async () => {
    await enforced();
    expect(await cluster.kubectlOk(["get", "ipam-operator", "--output", "name"])).toContain("/default\n");
    await user.enforce({ strictAffinity: false }); // the stored cap stays, and needs strict affinity
    await cluster.kubectlOk(["wait", "ipaminst/default", "--for=condition=Stalled", "--timeout=60s"]);
    await user.enforce({ strictAffinity: true });
    expect(await user.wait("Ready=True")).toMatchObject({ code: 0 });
  });
});

describe("the admission policy", () => {
  const bad: [name: string, spec: object, words: RegExp][] = [
    [
      "nothing can be allocated",
      { strictAffinity: false, autoAllocateBlocks: false },
      /Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks'/,
    ],
    [
      "a cap without strict affinity",
      { strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 4 },
      /MaxBlocksPerHost requires StrictAffinity/,
    ],
  ];

  it.each(bad)("a configuration that is written directly is refused: %s", async (_name, spec, words) => {
    const { code, stderr } = await user.configure(spec);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(words);
    expect(await user.configuration()).toBeUndefined();
  });

  it("only warns when it is told to", async () => {
    await upgraded("--set admissionPolicy=Warn");
    try {
      const [, spec, words] = bad[1]!;
      const allowed = { code: 0, stderr: expect.stringMatching(words) }; // a refusal has the same words
      await expect.poll(() => user.configure(spec)).toMatchObject(allowed);
      expect(await user.spec()).toMatchObject(spec);
    } finally {
      await upgraded("--set admissionPolicy=Deny");
    }
  });

  it("has no type warnings: the API server has checked its CEL against the CRDs", async () => {
    const policy = ["validatingadmissionpolicy", "ipam-configuration.ipam-operator.io"];
    const checked = async () => JSON.parse(await cluster.kubectlOk(["get", ...policy, "--output", "json"]));
    await expect
      .poll(async () => {
        const { metadata, status } = await checked();
        return status?.observedGeneration === metadata.generation;
      })
      .toBe(true);
    expect((await checked()).status.typeChecking.expressionWarnings ?? []).toEqual([]);
  });
});

describe("beside Calico's operator", () => {
  const crd = `crd/${calicoInstallationCrd.metadata.name}`;
  beforeAll(async () => {
    await user.apply(calicoInstallationCrd);
    await cluster.kubectlOk(["wait", "--for=condition=Established", crd, "--timeout=60s"]);
  });
  afterAll(() => cluster.kubectlOk(["delete", crd]));

  it("`kubectl get installation` goes on meaning Calico's, and ours has names of its own", async () => {
    await enforced();
    await user.apply({
      apiVersion: "operator.tigera.io/v1",
      kind: "Installation",
      metadata: { name: "default" },
      spec: {},
    });
    const apiVersionOf = async (name: string) =>
      JSON.parse(await cluster.kubectlOk(["get", name, "default", "--output=json"])).apiVersion;
    for (const name of ["installation", "installations"])
      expect(await apiVersionOf(name)).toBe("operator.tigera.io/v1");
    for (const name of ["ipaminst", "ipaminstallations"])
      expect(await apiVersionOf(name)).toBe("ipam-operator.io/v1alpha1");
  });

  it("leaves the cluster alone while Calico's Installation says that its IPAM is not Calico's", async () => {
    const ipam = (type: string) =>
      user.apply({
        apiVersion: "operator.tigera.io/v1",
        kind: "Installation",
        metadata: { name: "default" },
        spec: { cni: { ipam: { type } } },
      });
    await ipam("HostLocal");
    await user.enforce({ strictAffinity: true });
    await expect.poll(user.reasons).toEqual(["Ready=True NotApplicable"]);
    expect(await user.configuration()).toBeUndefined();
    await ipam("Calico");
    await expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);
  });
});
