/** `ipamctl configure` by situation. */
import { describe, expect, it } from "vitest";
import { INSTALLATION_API_VERSION, type Installation } from "../../src/api/installation.ts";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import { FILE_ANNOTATION } from "../../src/operator/manifest-origin.ts";
import { configuration } from "../support/ipam-data.ts";
import { sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const siteWith = (spec?: IPAMConfigurationSpec, installation?: Installation["spec"], annotations = {}) =>
  siteOf({ ...sound, configurations: spec ? [configuration(spec)] : [] }).then(async (site) => {
    if (installation) {
      const metadata = { name: "default", annotations };
      const kind = "Installation";
      await site.change((store) =>
        store.create({ apiVersion: INSTALLATION_API_VERSION, kind, metadata, spec: installation }),
      );
    }
    return site;
  });
const specOf = async (site: Site) => (await site.snapshot()).configurations[0]?.spec;
const installed = async (site: Site) => {
  let spec: unknown;
  await site.change(async (store) => {
    spec = (await store.get("Installation", "default")).spec;
  });
  return spec;
};
const json = (...flags: string[]) => ["configure", ...flags, "-o", "json"];

describe("CLI-03: setting one field", () => {
  it("keeps the others", async () => {
    const site = await siteWith({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 8,
      ipCooldownSeconds: 60,
    });
    const ran = await site.run(json("--ip-cooldown-seconds=30"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done set IPAMConfiguration/default"]);
    expect(ran.asked).toEqual(["Change the configuration? [y/N] "]);
    expect(ran.stderr).toContain("in force now: strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 8");
    expect(JSON.parse(ran.stdout).items[0]).toMatchObject({
      why: "ipCooldownSeconds: 60 -> 30",
      changes: { ipCooldownSeconds: 30 },
      effective: { maxBlocksPerHost: 8, ipCooldownSeconds: 30 },
    });
    expect(await specOf(site)).toEqual({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 8,
      ipCooldownSeconds: 30,
    });
  });

  it("makes the object with safe defaults where there is none", async () => {
    const site = await siteWith();
    expect((await site.run(json("--strict-affinity=true", "--max-blocks-per-host", "8"))).code).toBe(0);
    expect(await specOf(site)).toEqual({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 8 });
  });

  it("that would break rules is refused, every one named, and nothing is written", async () => {
    const stored = { strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 8 };
    const site = await siteWith(stored);
    const ran = await site.run(json("--strict-affinity", "false", "--ip-cooldown-seconds", "5000"));
    expect(ran).toMatchObject({ code: 1, stdout: "", asked: [] });
    for (const words of ["Cannot disable 'StrictAffinity'", "MaxBlocksPerHost requires", "from 0 to 1200"]) {
      expect(ran.stderr).toContain(words);
    }
    expect(await specOf(site)).toEqual(stored);
  });

  it("of a configuration that breaks a rule mends it", async () => {
    const site = await siteWith({ strictAffinity: false, maxBlocksPerHost: 4 });
    expect(await site.codes()).toEqual(["InvalidConfiguration"]);
    expect((await site.run(json("--max-blocks-per-host", "0"))).code).toBe(0);
    expect(await site.codes()).toEqual([]);
  });
});

describe("the fields", () => {
  it.each([
    [["--auto-allocate-blocks", "f", "--strict-affinity", "T"], { autoAllocateBlocks: false, strictAffinity: true }],
    [["--strictaffinity=true"], { strictAffinity: true }],
    [["--kubevirt-ip-persistence", "Disabled"], { kubeVirtVMAddressPersistence: "Disabled" }],
  ])("%j", async (flags, expected) => {
    const site = await siteWith({ strictAffinity: false, autoAllocateBlocks: true });
    expect((await site.run(["configure", ...flags, "--yes"])).code).toBe(0);
    expect(await specOf(site)).toMatchObject(expected);
  });

  it("that are so already are not written", async () => {
    const site = await siteWith({ strictAffinity: true, autoAllocateBlocks: true });
    const before = await site.snapshot();
    const ran = await site.run(json("--strict-affinity", "true"));
    expect([ran.code, ran.asked.length, ...rowsOf(ran)]).toEqual([0, 0, "kept set IPAMConfiguration/default"]);
    expect(await site.snapshot()).toEqual(before);
  });

  it.each([
    [[], "say what to change"],
    [["--strict-affinity", "maybe"], "--strict-affinity 'maybe' is neither true nor false"],
    [["--max-blocks-per-host", "many"], "--max-blocks-per-host 'many' is no whole number"],
    [["--kubevirt-ip-persistence", "Off"], "Allowed choices are Enabled, Disabled"],
  ])("%j is a usage error", async (flags, message) => {
    const ran = await (await siteWith()).run(["configure", ...flags]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("changed by somebody else while the question is open: nothing is done", async () => {
    const site = await siteWith({ strictAffinity: true, autoAllocateBlocks: true });
    const ask = async () => {
      await site.change(async (store) => {
        const stored = await store.get("IPAMConfiguration", "default");
        await store.update({ ...stored, spec: { ...stored.spec, ipCooldownSeconds: 7 } });
      });
      return "yes";
    };
    const ran = await site.run(json("--max-blocks-per-host", "3"), { ask });
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, "failed set IPAMConfiguration/default"]);
    expect(await specOf(site)).toEqual({ strictAffinity: true, autoAllocateBlocks: true, ipCooldownSeconds: 7 });
  });
});

describe("where somebody else keeps the configuration", () => {
  it.each([
    ["Helm", { labels: { "app.kubernetes.io/managed-by": "Helm" } }],
    ["Argo CD", { annotations: { "argocd.argoproj.io/tracking-id": "apps:ipam" } }],
    ["Flux", { labels: { "kustomize.toolkit.fluxcd.io/name": "ipam" } }],
  ])("%s: the change is made, and who may put it back is said", async (owner, marks) => {
    const site = await siteWith({ strictAffinity: true, autoAllocateBlocks: true });
    await site.change(async (store) => {
      const stored = await store.get("IPAMConfiguration", "default");
      await store.update({ ...stored, metadata: { ...stored.metadata, ...marks } });
    });
    const ran = await site.run(json("--max-blocks-per-host", "9"));
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(new RegExp(`${owner} .*keeps IPAMConfiguration "default", and may put back`));
    expect(await specOf(site)).toMatchObject({ maxBlocksPerHost: 9 });
  });
});

describe("where there is an Installation", () => {
  const stored = { strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 8 };
  const keeps = { managementPolicy: "Enforce", ipam: { strictAffinity: true, maxBlocksPerHost: 8 } } as const;

  it("a field that it keeps is refused, and who keeps it named", async () => {
    const site = await siteWith(stored, keeps);
    const ran = await site.run(json("--max-blocks-per-host", "9", "--ip-cooldown-seconds", "1"));
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain('maxBlocksPerHost: kept by Installation "default" (managementPolicy: Enforce)');
    expect(await specOf(site)).toEqual(stored);
  });

  it("with --installation the field is changed there, and nothing else", async () => {
    const site = await siteWith(stored, keeps);
    const ran = await site.run(json("--max-blocks-per-host", "9", "--installation"));
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done set Installation/default"]);
    expect(await installed(site)).toEqual({
      managementPolicy: "Enforce",
      ipam: { strictAffinity: true, maxBlocksPerHost: 9 },
    });
    expect(await specOf(site)).toEqual(stored);
    expect(rowsOf(await site.run(json("--max-blocks-per-host", "9", "--installation")))).toEqual([
      "kept set Installation/default",
    ]);
  });

  it("a field that it does not keep is changed in the configuration", async () => {
    const site = await siteWith(stored, keeps);
    expect((await site.run(json("--ip-cooldown-seconds", "60"))).code).toBe(0);
    expect(await specOf(site)).toEqual({ ...stored, ipCooldownSeconds: 60 });
  });

  it("the rules are asked of both together", async () => {
    const site = await siteWith({ strictAffinity: true, autoAllocateBlocks: true }, keeps);
    const ran = await site.run(json("--strict-affinity", "false"));
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("MaxBlocksPerHost requires StrictAffinity") });
  });

  it("that only observes, the change is made, and that it will be told of is said", async () => {
    const site = await siteWith(stored, { ...keeps, managementPolicy: "Observe" });
    const ran = await site.run(json("--max-blocks-per-host", "9"));
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("only observes") });
    const there = await site.run(json("--max-blocks-per-host", "9", "--installation"));
    expect(there).toMatchObject({ code: 0, stderr: expect.stringContaining("nothing will be applied") });
  });

  it("that is read from a file is not changed behind the file's back", async () => {
    const site = await siteWith(stored, keeps, { [FILE_ANNOTATION]: "examples/installation.yaml" });
    const ran = await site.run(json("--max-blocks-per-host", "9", "--installation"));
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("examples/installation.yaml") });
    expect(await installed(site)).toEqual(keeps);
  });

  it("--installation without one is refused", async () => {
    const ran = await (await siteWith(stored)).run(json("--max-blocks-per-host", "9", "--installation"));
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no Installation "default"') });
  });
});
