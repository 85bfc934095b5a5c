/** The main job as a table of cases, by kubectl alone: an Installation is applied, edited and broken, and each answer is seen. */
import { beforeEach, expect, it } from "vitest";
import { kstatusOf } from "../support/kstatus.ts";
import type { Generation, User } from "./user.ts";

/**
 * Registers the cases. `theUser` is one of a cluster where the operator runs, and where admission lets invalid
 * configurations in; it is asked for once the suite's own `beforeAll` is through.
 */
export function mainJobCases(generation: Generation, theUser: () => User): void {
  let user: User;
  beforeEach(() => {
    user = theUser();
    return user.reset();
  });

  const succeeded = () => expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);
  const stalled = (reason: string) =>
    expect.poll(user.reasons).toEqual([`Ready=False ${reason}`, `Stalled=True ${reason}`]);

  it("an Installation becomes the configuration, and kubectl wait sees it", async () => {
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8, ipCooldownSeconds: 60 });
    expect(await user.wait("Ready")).toMatchObject({ code: 0, stdout: expect.stringContaining("condition met") });
    expect(await user.spec()).toMatchObject({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 8,
      ipCooldownSeconds: 60,
    });
    await succeeded();
    const installation = (await user.installation())!;
    expect(kstatusOf(installation)).toBe("Current");
    expect(installation.status).toMatchObject({
      effective: { strictAffinity: true, maxBlocksPerHost: 8, kubeVirtVMAddressPersistence: "Enabled" },
      datastore: { apiGroup: generation === "v1" ? "crd.projectcalico.org/v1" : "projectcalico.org/v3" },
    });
    await expect.poll(user.events).toContainEqual(expect.stringMatching(/^Normal Succeeded: /));
  });

  it("has the columns a person wants", async () => {
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await user.wait("Ready");
    const [header = "", row = ""] = (await user.kubectlOk(["get", "ipaminst"])).split("\n");
    expect(header.split(/\s+/)).toEqual([
      "NAME",
      "READY",
      "REASON",
      "POLICY",
      "STRICT",
      "MAXBLOCKS",
      "COOLDOWN",
      "AGE",
    ]);
    expect(row.split(/\s+/).slice(0, 7)).toEqual(["default", "True", "Succeeded", "Enforce", "true", "8", "0"]);
  });

  it.each([
    [
      "both off",
      { strictAffinity: false, autoAllocateBlocks: false },
      /Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks'/,
    ],
    ["autoAllocateBlocks off alone", { autoAllocateBlocks: false, strictAffinity: false }, /Cannot disable/],
    [
      "a cap without strict affinity",
      { maxBlocksPerHost: 4 },
      /MaxBlocksPerHost requires StrictAffinity to be enabled/,
    ],
    ["a negative cap", { strictAffinity: true, maxBlocksPerHost: -1 }, /greater than or equal to 0/],
    ["a cooldown beyond 1200", { ipCooldownSeconds: 1201 }, /less than or equal to 1200/],
    ["an unknown field", { strictAfinity: true }, /unknown field "spec\.ipam\.strictAfinity"/],
  ])("refuses %s at the door", async (_name, ipam, words) => {
    const { code, stderr } = await user.tryInstall({ managementPolicy: "Enforce", ipam });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(words);
    expect(await user.installation()).toBeUndefined();
  });

  it("refuses any other name, and a missing policy", async () => {
    expect((await user.tryInstall({ managementPolicy: "Enforce" }, "other")).stderr).toMatch(/default/);
    expect((await user.tryInstall({ ipam: {} })).stderr).toMatch(/managementPolicy/);
  });

  it("CFG-02: follows each edit; a removed line leaves the stored value", async () => {
    for (const strictAffinity of [true, false, true]) {
      await user.enforce({ strictAffinity });
      await expect.poll(async () => (await user.spec())?.strictAffinity).toBe(strictAffinity);
    }
    await user.enforce();
    await succeeded();
    expect((await user.spec())?.strictAffinity).toBe(true);
  });

  it("CFG-03: a left-out autoAllocateBlocks is true", async () => {
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 4 });
    await succeeded();
    expect((await user.spec())?.autoAllocateBlocks).toBe(true);
    expect((await user.installation())?.status?.effective?.autoAllocateBlocks).toBe(true);
  });

  it("CFG-05: writes nothing into the spec of an Installation applied by a GitOps tool", async () => {
    const spec = { managementPolicy: "Enforce", ipam: { strictAffinity: true } };
    await user.tryInstall(spec, "default", ["--server-side", "--field-manager=gitops"]);
    for (const ipCooldownSeconds of [1, 2, 3]) {
      await expect.poll(() => user.configuration()).toBeDefined();
      await user.patch({ ipCooldownSeconds });
    }
    await succeeded();
    const { metadata, spec: after } = (await user.installation())!;
    expect(after).toEqual(spec);
    expect(metadata.generation).toBe(1);
    expect(metadata["finalizers"]).toBeUndefined();
    expect(metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ["gitops", undefined],
      ["ipam-operator", "status"],
    ]);
  });

  it("CFG-10: unmanaged fields of the configuration survive", async () => {
    await user.configure({
      strictAffinity: false,
      autoAllocateBlocks: true,
      kubeVirtVMAddressPersistence: "Disabled",
      ipCooldownSeconds: 30,
    });
    await user.enforce({ strictAffinity: true });
    await succeeded();
    expect(await user.spec()).toMatchObject({
      strictAffinity: true,
      kubeVirtVMAddressPersistence: "Disabled",
      ipCooldownSeconds: 30,
    });
    const { status } = (await user.installation())!;
    expect(status?.adopted).toContainEqual({ name: "ipCooldownSeconds", value: "30" });
    expect(status?.fields).toContainEqual({ name: "ipCooldownSeconds", value: "30", source: "Existing" });
    expect(status?.fields).toContainEqual({ name: "strictAffinity", value: "true", source: "Installation" });
  });

  it("drift is put back within a second, and its author named", async () => {
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await succeeded();
    await user.patch({ maxBlocksPerHost: 3 });
    await expect.poll(async () => (await user.spec())?.maxBlocksPerHost, { timeout: 1000 }).toBe(8);
    await expect
      .poll(user.events)
      .toContainEqual(
        expect.stringMatching(/^Warning Drift: maxBlocksPerHost .* changed to 3 by kubectl-patch; reverted to 8/),
      );
    await expect.poll(async () => (await user.installation())?.status?.lastDrift).toMatch(/by kubectl-patch/);
  });

  it("a configuration that is deleted comes back", async () => {
    await user.enforce({ strictAffinity: true });
    await succeeded();
    await user.kubectlOk(["delete", user.plural, "default"]);
    await expect.poll(async () => (await user.spec())?.strictAffinity).toBe(true);
  });

  it("it does not fight: after three corrections it gives way until the field changes", async () => {
    await user.enforce({ ipCooldownSeconds: 60 });
    await succeeded();
    for (let i = 0; i < 3; i++) {
      await user.patch({ ipCooldownSeconds: 5 });
      await expect.poll(async () => (await user.spec())?.ipCooldownSeconds).toBe(60);
    }
    await user.patch({ ipCooldownSeconds: 5 });
    await stalled("DriftFight");
    expect((await user.spec())?.ipCooldownSeconds).toBe(5);
    await user.enforce({ ipCooldownSeconds: 61 });
    await succeeded();
    expect((await user.spec())?.ipCooldownSeconds).toBe(61);
  });

  it("OwnedByOther: leaves a field that another manager applies server-side", async () => {
    await user.configure({ strictAffinity: false, autoAllocateBlocks: true }, {}, [
      "--server-side",
      "--field-manager=flux",
    ]);
    await user.enforce({ strictAffinity: true });
    await stalled("OwnedByOther");
    expect(await user.message()).toMatch(/flux/);
    expect((await user.spec())?.strictAffinity).toBe(false);
  });

  it("OwnedByOther: leaves a configuration that Helm keeps (input 05)", async () => {
    const helm = {
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: { "meta.helm.sh/release-name": "other-chart", "meta.helm.sh/release-namespace": "kube-system" },
    };
    await user.configure({ autoAllocateBlocks: true, strictAffinity: true }, helm);
    await user.enforce({ strictAffinity: false });
    await stalled("OwnedByOther");
    expect(await user.message()).toMatch(/other-chart/);
    await user.enforce({ strictAffinity: true });
    await succeeded();
  });

  it("CFG-04: repairs an invalid stored configuration where the managed fields suffice, else names the field at fault", async () => {
    await user.configure({ strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 4 });
    await user.enforce({ ipCooldownSeconds: 60 });
    await stalled("InvalidSpec");
    expect(await user.message()).toMatch(/MaxBlocksPerHost requires StrictAffinity.*maxBlocksPerHost, strictAffinity/);
    expect((await user.spec())?.ipCooldownSeconds).toBeUndefined();
    await user.enforce({ ipCooldownSeconds: 60, strictAffinity: true });
    await succeeded();
    expect(await user.spec()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 4, ipCooldownSeconds: 60 });
  });

  it("CFG-01: warns of a configuration under another name (input 05)", async () => {
    await user.enforce({ strictAffinity: true });
    await succeeded();
    await user.configure({ autoAllocateBlocks: true, strictAffinity: true }, { name: "distro-config" });
    await expect
      .poll(user.events)
      .toContainEqual(expect.stringMatching(/^Warning IgnoredConfiguration: only `default` is read: .*distro-config/));
    expect(await user.reasons()).toEqual(["Ready=True Succeeded"]);
  });

  it("Windows nodes without strict affinity: says the line to add, still applies the rest", async () => {
    await user.addNode("win-1", { "kubernetes.io/os": "windows" });
    await user.enforce({ ipCooldownSeconds: 60 });
    await stalled("WindowsNeedsStrictAffinity");
    expect(await user.message()).toMatch(/win-1.*spec\.ipam\.strictAffinity: true/);
    expect((await user.spec())?.ipCooldownSeconds).toBe(60);
    await user.enforce({ ipCooldownSeconds: 60, strictAffinity: true });
    await succeeded();
  });

  it("BLK-03: warns when blocks times their size stay below a node's pod capacity", async () => {
    const [group, version] = generation === "v1" ? ["crd.projectcalico.org", "v1"] : ["projectcalico.org", "v3"];
    await user.addNode("small");
    await user.kubectlOk([
      "patch",
      "node",
      "small",
      "--subresource=status",
      "--type=merge",
      "--patch",
      '{"status":{"capacity":{"pods":"110"}}}',
    ]);
    await user.apply({
      apiVersion: `${group}/${version}`,
      kind: "IPPool",
      metadata: { name: "tiny" },
      spec: { cidr: "10.0.0.0/20", blockSize: 32 },
    });
    await user.enforce({ strictAffinity: true });
    await expect
      .poll(user.events)
      .toContainEqual(expect.stringMatching(/^Warning BlocksBelowPodCapacity: 20 blocks .* node \S+ admits 110/));
    expect((await user.installation())?.status?.warnings).toMatchObject([{ type: "BlocksBelowPodCapacity" }]);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 110 });
    await expect.poll(async () => (await user.installation())?.status?.warnings).toEqual([]);
  });

  it("Observe reports and writes nothing; Paused touches nothing; Enforce then writes", async () => {
    await user.install({ managementPolicy: "Observe", ipam: { strictAffinity: true } });
    await expect.poll(user.reasons).toEqual(["Ready=True Observed"]);
    await user.install({ managementPolicy: "Paused", ipam: { strictAffinity: true } });
    await expect.poll(user.reasons).toEqual(["Ready=True Paused"]);
    expect(await user.configuration()).toBeUndefined();
    await user.enforce({ strictAffinity: true });
    await succeeded();
    expect((await user.spec())?.strictAffinity).toBe(true);
  });

  it("nothing managed and nothing stored: nothing is created", async () => {
    await user.enforce();
    await succeeded();
    expect(await user.configuration()).toBeUndefined();
  });

  it("deleting the Installation leaves the configuration", async () => {
    await user.enforce({ strictAffinity: true });
    await succeeded();
    await user.kubectlOk(["delete", "ipaminst", "default", "--timeout=5s"]);
    await user.patch({ strictAffinity: false });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await user.spec())?.strictAffinity).toBe(false);
  });
}
