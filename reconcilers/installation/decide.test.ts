import { describe, expect, it } from "vitest";
import {
  aConfiguration,
  aNode,
  anInstallation,
  heldBy,
  NOW,
  theSurroundings,
} from "../../test/support/installations.ts";
import { decide, type Situation } from "./decide.ts";

const inForce = { strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 8 };
const appliedBefore = {
  observedGeneration: 1,
  applied: [{ name: "maxBlocksPerHost", value: "8" } as const],
};

interface Case extends Partial<Situation> {
  readonly reason: string;
  readonly changes?: object;
  readonly says?: RegExp;
}

const windows = theSurroundings({ nodes: [aNode("linux-1"), aNode("win-1", { windows: true })] });
const locked = theSurroundings({ datastoreLocked: true });
const blocked = { reason: "Forbidden", message: "cannot list nodes" } as const;

const cases: Record<string, Case> = {
  "writes what differs and leaves the rest": {
    installation: anInstallation({ strictAffinity: true, maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce),
    reason: "Succeeded",
    changes: { maxBlocksPerHost: 9 },
  },
  "writes nothing when nothing differs": {
    installation: anInstallation({ maxBlocksPerHost: 8 }),
    stored: aConfiguration(inForce),
    reason: "Succeeded",
    changes: {},
  },
  "takes a managed 0 and a stored absence for the same": {
    installation: anInstallation({ maxBlocksPerHost: 0, ipCooldownSeconds: 0 }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: true }),
    reason: "Succeeded",
    changes: {},
  },
  "creates nothing where nothing is managed and nothing stored": {
    installation: anInstallation(),
    reason: "Succeeded",
    changes: {},
    says: /none is stored/,
  },
  "creates the configuration even where every wanted value is the default": {
    installation: anInstallation({ strictAffinity: false }),
    reason: "Succeeded",
    changes: { strictAffinity: false },
  },
  "only tells the difference in Observe": {
    installation: anInstallation({ maxBlocksPerHost: 9 }, { policy: "Observe" }),
    stored: aConfiguration(inForce),
    reason: "Observed",
    changes: {},
    says: /maxBlocksPerHost from 8 to 9/,
  },
  "tells in Observe of a creation as one: nothing was there before": {
    installation: anInstallation({ strictAffinity: false, ipCooldownSeconds: 60 }, { policy: "Observe" }),
    reason: "Observed",
    changes: {},
    says: /would create the configuration with strictAffinity: false, ipCooldownSeconds: 60\. Observe writes nothing/,
  },
  "tells in Observe of a creation even where every wanted value is the default": {
    installation: anInstallation({ strictAffinity: false }, { policy: "Observe" }),
    reason: "Observed",
    changes: {},
    says: /would create the configuration with strictAffinity: false\./,
  },
  "tells while locked of a creation as one": {
    installation: anInstallation({ ipCooldownSeconds: 60 }),
    surroundings: locked,
    reason: "DatastoreLocked",
    changes: {},
    says: /waiting to create the configuration with ipCooldownSeconds: 60$/,
  },
  "says while v1 is locked, and was set by hand, what a migration to v3 asks for": {
    installation: anInstallation({ ipCooldownSeconds: 60 }),
    surroundings: theSurroundings({
      datastoreLocked: true,
      datastore: { apiGroup: "crd.projectcalico.org/v1", chosenBy: "Flag: --datastore v1" },
    }),
    reason: "DatastoreLocked",
    says: /ipCooldownSeconds: 60\. If Calico's data has moved to projectcalico\.org\/v3, start the operator without the setting \(Flag: --datastore v1\)$/,
  },
  "touches nothing in Paused, not even where it could not read": {
    installation: anInstallation({ maxBlocksPerHost: 9 }, { policy: "Paused" }),
    stored: aConfiguration(inForce),
    surroundings: theSurroundings({ blocked }),
    reason: "Paused",
    changes: {},
  },
  "says what blocks it": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    surroundings: theSurroundings({ blocked }),
    reason: "Forbidden",
    says: /cannot list nodes/,
  },
  "leaves a cluster alone whose IPAM is not Calico's": {
    installation: anInstallation({ maxBlocksPerHost: 9, strictAffinity: true }),
    surroundings: theSurroundings({ foreignIpam: "HostLocal" }),
    reason: "NotApplicable",
    changes: {},
    says: /HostLocal/,
  },
  "refuses a merged result that breaks a rule, naming the unmanaged field": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: true }),
    reason: "InvalidSpec",
    changes: {},
    says: /MaxBlocksPerHost requires StrictAffinity.*at fault in the stored IPAMConfiguration default: strictAffinity; set spec\.ipam\.strictAffinity here/,
  },
  "repairs an invalid stored configuration where the managed fields suffice": {
    installation: anInstallation({ strictAffinity: true }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: false }),
    reason: "Succeeded",
    changes: { strictAffinity: true },
  },
  "does not repair what it does not manage": {
    installation: anInstallation({ ipCooldownSeconds: 60 }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: false }),
    reason: "InvalidSpec",
    changes: {},
    says: /Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks'/,
  },
  "tolerates a stored value out of range that nobody changes": {
    installation: anInstallation({ ipCooldownSeconds: 60 }),
    stored: aConfiguration({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 2_000_000 }),
    reason: "Succeeded",
    changes: { ipCooldownSeconds: 60 },
  },
  "writes nothing while the datastore is locked": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce),
    surroundings: locked,
    reason: "DatastoreLocked",
    changes: {},
  },
  "does not mind the lock when there is nothing to write": {
    installation: anInstallation({ maxBlocksPerHost: 8 }),
    stored: aConfiguration(inForce),
    surroundings: locked,
    reason: "Succeeded",
  },
  "leaves a configuration that Helm keeps": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce, { labels: { "app.kubernetes.io/managed-by": "Helm" } }),
    reason: "OwnedByOther",
    changes: {},
    says: /Helm/,
  },
  "leaves a configuration that Argo CD keeps": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce, { annotations: { "argocd.argoproj.io/tracking-id": "apps:x" } }),
    reason: "OwnedByOther",
    says: /Argo CD/,
  },
  "leaves a configuration that Flux keeps": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce, { labels: { "kustomize.toolkit.fluxcd.io/name": "net" } }),
    reason: "OwnedByOther",
    says: /Flux/,
  },
  "leaves a field that another manager applies server-side": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce, { managedFields: [heldBy("gitops", "Apply", ["maxBlocksPerHost"])] }),
    reason: "OwnedByOther",
    says: /gitops \(server-side apply\)/,
  },
  "does not mind an owner who wants the same": {
    installation: anInstallation({ maxBlocksPerHost: 8 }),
    stored: aConfiguration(inForce, { labels: { "app.kubernetes.io/managed-by": "Helm" } }),
    reason: "Succeeded",
  },
  "does not mind a manager that applies another field": {
    installation: anInstallation({ maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce, { managedFields: [heldBy("gitops", "Apply", ["ipCooldownSeconds"])] }),
    reason: "Succeeded",
    changes: { maxBlocksPerHost: 9 },
  },
  "writes the other fields when the CRD does not know one": {
    installation: anInstallation({ maxBlocksPerHost: 9, ipCooldownSeconds: 60 }),
    stored: aConfiguration(inForce),
    surroundings: theSurroundings({
      servedFields: new Set(["strictAffinity", "autoAllocateBlocks", "maxBlocksPerHost"]),
    }),
    reason: "FieldNotServed",
    changes: { maxBlocksPerHost: 9 },
    says: /does not know ipCooldownSeconds/,
  },
  "writes no cooldown where blocks cannot say since when an address is free": {
    installation: anInstallation({ maxBlocksPerHost: 9, ipCooldownSeconds: 60 }),
    stored: aConfiguration(inForce),
    surroundings: theSurroundings({ servedAttributes: new Set(["handle_id", "secondary", "alternateOwnerAttrs"]) }),
    reason: "FieldNotServed",
    changes: { maxBlocksPerHost: 9 },
    says: /CRD ipamblocks\..*does not know spec\.attributes\[\]\.releasedAt.*Upgrade Calico's CRDs, or set spec\.ipam\.ipCooldownSeconds: 0/,
  },
  "turns the cooldown off where blocks have no place for it": {
    installation: anInstallation({ ipCooldownSeconds: 0 }),
    stored: aConfiguration({ ...inForce, ipCooldownSeconds: 30 }),
    surroundings: theSurroundings({ servedAttributes: new Set(["handle_id", "secondary", "alternateOwnerAttrs"]) }),
    reason: "Succeeded",
    changes: { ipCooldownSeconds: 0 },
  },
  "enables no VM persistence where blocks have no alternate owner": {
    installation: anInstallation({ kubeVirtVMAddressPersistence: "Enabled" }),
    stored: aConfiguration({ ...inForce, kubeVirtVMAddressPersistence: "Disabled" }),
    surroundings: theSurroundings({ servedAttributes: new Set(["handle_id", "secondary", "releasedAt"]) }),
    reason: "FieldNotServed",
    changes: {},
    says: /spec\.attributes\[\]\.alternateOwnerAttrs/,
  },
  "names both CRDs where each lacks something": {
    installation: anInstallation({ ipCooldownSeconds: 60, maxBlocksPerHost: 9 }),
    stored: aConfiguration(inForce),
    surroundings: theSurroundings({
      servedFields: new Set(["strictAffinity", "autoAllocateBlocks", "ipCooldownSeconds"]),
      servedAttributes: new Set(["handle_id"]),
    }),
    reason: "FieldNotServed",
    changes: {},
    says: /does not know maxBlocksPerHost.*does not know spec\.attributes\[\]\.releasedAt/,
  },
  "writes the other fields when Windows nodes need strict affinity": {
    installation: anInstallation({ ipCooldownSeconds: 60 }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: true }),
    surroundings: windows,
    reason: "WindowsNeedsStrictAffinity",
    changes: { ipCooldownSeconds: 60 },
    says: /node win-1 runs Windows.*spec\.ipam\.strictAffinity: true/,
  },
  "does not take strict affinity away from Windows nodes": {
    installation: anInstallation({ strictAffinity: false, ipCooldownSeconds: 60 }),
    stored: aConfiguration({ strictAffinity: true, autoAllocateBlocks: true }),
    surroundings: windows,
    reason: "WindowsNeedsStrictAffinity",
    changes: { ipCooldownSeconds: 60 },
  },
  "is content with Windows nodes and strict affinity": {
    installation: anInstallation({ strictAffinity: true }),
    stored: aConfiguration(inForce),
    surroundings: windows,
    reason: "Succeeded",
  },
  "puts back what was in force": {
    installation: anInstallation({ maxBlocksPerHost: 8 }, { status: appliedBefore }),
    stored: aConfiguration({ ...inForce, maxBlocksPerHost: 3 }),
    reason: "Succeeded",
    changes: { maxBlocksPerHost: 8 },
  },
  "writes nothing where a field held back leaves the rest breaking a rule": {
    installation: anInstallation({ strictAffinity: true, maxBlocksPerHost: 9 }),
    stored: aConfiguration({ strictAffinity: false, autoAllocateBlocks: true }),
    surroundings: theSurroundings({ servedFields: new Set(["autoAllocateBlocks", "maxBlocksPerHost"]) }),
    reason: "FieldNotServed",
    changes: {},
    says: /nothing is written/,
  },
};

describe("decide", () => {
  it.each(Object.entries(cases))("%s", (_name, { reason, changes, says, ...given }) => {
    const situation: Situation = {
      installation: anInstallation(),
      stored: undefined,
      surroundings: theSurroundings(),
      now: NOW,
      ...given,
    };
    const decision = decide(situation);
    expect(decision.outcome.reason).toBe(reason);
    if (changes) expect(decision.changes).toEqual(changes);
    if (says) expect(decision.outcome.message).toMatch(says);
  });
});
