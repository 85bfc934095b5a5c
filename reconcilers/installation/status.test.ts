import { describe, expect, it } from "vitest";
import type { Installation } from "../../src/api/installation.ts";
import {
  aConfiguration,
  aNode,
  anInstallation,
  aPool,
  NOW,
  theSurroundings,
} from "../../test/support/installations.ts";
import { kstatusOf } from "../../test/support/kstatus.ts";
import { REASONS, type Reason } from "./reasons.ts";
import { type Reconciled, statusOf } from "./status.ts";

const LATER = new Date(NOW.getTime() + 60_000);

function status(more: Partial<Reconciled> = {}) {
  return statusOf({
    installation: anInstallation({ maxBlocksPerHost: 8 }),
    outcome: { reason: "Succeeded", message: "done" },
    stored: aConfiguration({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 8 }),
    otherNames: [],
    drift: { corrected: [], suspended: [] },
    configured: [],
    surroundings: theSurroundings(),
    now: NOW,
    ...more,
  });
}
const withStatus = (installation: Installation, made: Installation["status"]): Installation => ({
  ...installation,
  ...(made ? { status: made } : {}),
});

describe("conditions", () => {
  const expected: Record<Reason, string> = {
    Succeeded: "Current",
    Observed: "Current",
    NotApplicable: "Current",
    Paused: "InProgress", // had never converged; a settled one stays as it was, below
    Progressing: "InProgress",
    Unavailable: "InProgress",
    DatastoreLocked: "InProgress",
    InvalidSpec: "Failed",
    APINotInstalled: "Failed",
    Forbidden: "Failed",
    OwnedByOther: "Failed",
    DriftFight: "Failed",
    FieldNotServed: "Failed",
    WindowsNeedsStrictAffinity: "Failed",
  };

  it.each(Object.keys(REASONS) as Reason[])("are read right by kstatus tools: %s", (reason) => {
    const made = withStatus(anInstallation(), status({ outcome: { reason, message: "why" } }));
    expect(kstatusOf(made)).toBe(expected[reason]);
  });

  it("always have Ready, and never Stalled beside Reconciling", () => {
    for (const reason of Object.keys(REASONS) as Reason[]) {
      const types = (status({ outcome: { reason, message: "why" } }).conditions ?? []).map(({ type }) => type);
      expect(types).toContain("Ready");
      expect(types.includes("Stalled") && types.includes("Reconciling")).toBe(false);
    }
  });

  it("all carry the generation they were made from (CFG-11)", () => {
    const installation = anInstallation({ maxBlocksPerHost: 8 }, { generation: 17 });
    const made = status({ installation, outcome: { reason: "InvalidSpec", message: "bad" } });
    expect(made.observedGeneration).toBe(17);
    expect(made.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([17, 17]);
  });

  it("keep their transition time while the status stays, whatever the reason", () => {
    const first = status();
    const again = status({
      installation: withStatus(anInstallation(), first),
      outcome: { reason: "Observed", message: "other" },
      now: LATER,
    });
    expect(again.conditions?.[0]).toMatchObject({ reason: "Observed", lastTransitionTime: NOW.toISOString() });
    const failed = status({
      installation: withStatus(anInstallation(), first),
      outcome: { reason: "InvalidSpec", message: "bad" },
      now: LATER,
    });
    expect(failed.conditions?.[0]).toMatchObject({ status: "False", lastTransitionTime: LATER.toISOString() });
  });

  it("do not hide by a pause that the configuration had not converged", () => {
    const stalled = status({ outcome: { reason: "InvalidSpec", message: "bad" } });
    const paused = status({
      installation: withStatus(anInstallation(undefined, { policy: "Paused", generation: 2 }), stalled),
      outcome: { reason: "Paused", message: "paused" },
      stored: "unread",
    });
    expect(paused.conditions).toMatchObject([
      { type: "Ready", status: "False", reason: "Paused", observedGeneration: 2 },
      {
        type: "Stalled",
        status: "True",
        reason: "InvalidSpec",
        message: "when it was paused: bad",
        observedGeneration: 2,
      },
    ]);
  });

  it.each([
    ["Succeeded", "Current"],
    ["InvalidSpec", "Failed"],
    ["Unavailable", "InProgress"],
  ] as const)("leave Ready unchanged by a pause after %s", (reason, expectedState) => {
    const before = status({ outcome: { reason, message: "why" } });
    const paused = status({
      installation: withStatus(anInstallation(undefined, { policy: "Paused" }), before),
      outcome: { reason: "Paused", message: "paused" },
      stored: "unread",
    });
    expect(paused.conditions?.[0]?.status).toBe(before.conditions?.[0]?.status);
    expect(paused.conditions?.map(({ type }) => type)).not.toContain("Reconciling");
    expect(kstatusOf(withStatus(anInstallation(), paused))).toBe(expectedState);
  });
});

describe("fields", () => {
  const sources = (made: Installation["status"]) =>
    Object.fromEntries((made?.fields ?? []).map(({ name, value, source }) => [name, `${value} ${source}`]));

  it("tell for each field its value and where it comes from", () => {
    const stored = aConfiguration({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 8,
      ipCooldownSeconds: 60,
    });
    expect(sources(status({ stored }))).toEqual({
      strictAffinity: "true Existing",
      autoAllocateBlocks: "true Existing",
      maxBlocksPerHost: "8 Installation",
      ipCooldownSeconds: "60 Existing",
      kubeVirtVMAddressPersistence: "Enabled Default",
    });
  });

  it("do not claim a managed value that is not in force", () => {
    expect(sources(status({ stored: aConfiguration({ strictAffinity: true, maxBlocksPerHost: 3 }) }))).toMatchObject({
      maxBlocksPerHost: "3 Existing",
    });
  });
});

describe("adopted", () => {
  it("keeps the values found at first contact for ever", () => {
    const first = status({ stored: aConfiguration({ strictAffinity: true, maxBlocksPerHost: 3 }) });
    expect(first.adopted).toEqual([
      { name: "strictAffinity", value: "true" },
      { name: "maxBlocksPerHost", value: "3" },
    ]);
    const later = status({ installation: withStatus(anInstallation(), first), now: LATER });
    expect(later).toMatchObject({ adopted: first.adopted, adoptedAt: NOW.toISOString() });
  });

  it("waits until the configuration has been read", () => {
    expect(status({ stored: "unread", outcome: { reason: "Forbidden", message: "no" } })).not.toHaveProperty(
      "adoptedAt",
    );
  });
});

describe("warnings", () => {
  const small = aPool("small", { cidr: "10.0.0.0/20", blockSize: 32 });
  const warnings = (more: Partial<Reconciled>) =>
    status(more).warnings?.map(({ type, message }) => `${type}: ${message}`);

  it("BLK-03: tells when blocks times their size stay below a node's pod capacity", () => {
    const surroundings = theSurroundings({ nodes: [aNode("a")], pools: [small] });
    const stored = aConfiguration({ strictAffinity: false });
    expect(warnings({ stored, surroundings })).toEqual([
      expect.stringMatching(
        /^BlocksBelowPodCapacity: 20 blocks \(the default of maxBlocksPerHost\) of 1 IPv4 addresses hold 20 pods, but node a admits 110/,
      ),
    ]);
    const capped = aConfiguration({ strictAffinity: true, maxBlocksPerHost: 64 });
    expect(warnings({ stored: capped, surroundings })?.[0]).toMatch(/64 blocks \(maxBlocksPerHost\)/);
    expect(warnings({ stored: aConfiguration({ strictAffinity: true, maxBlocksPerHost: 110 }), surroundings })).toEqual(
      [],
    );
  });

  it("BLK-03: looks at the largest block that the node may claim, per family", () => {
    const large = aPool("large", { cidr: "10.1.0.0/16", blockSize: 26 });
    const elsewhere = aPool("elsewhere", { cidr: "10.2.0.0/16", nodeSelector: "zone == 'b'" });
    const tunnels = aPool("tunnels", { cidr: "10.3.0.0/16", allowedUses: ["Tunnel"] });
    const of = (...pools: (typeof small)[]) =>
      warnings({
        stored: aConfiguration({ strictAffinity: false }),
        surroundings: theSurroundings({ nodes: [aNode("a")], pools }),
      });
    expect(of(small, large)).toEqual([]);
    expect(of(small, elsewhere, tunnels)).toHaveLength(1);
    expect(of(large, aPool("six", { cidr: "fd00::/112", blockSize: 128 }))?.[0]).toMatch(/IPv6/);
  });

  it("CFG-01: says that a configuration under another name has no effect", () => {
    expect(warnings({ otherNames: ["distro-config"] })).toEqual([
      expect.stringMatching(/only `default` is read: the IPAM configuration distro-config has no effect/),
    ]);
  });
});
