/** The health script of docs/argo-cd.md, run as it is there on what the operator writes into an Installation's status. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { REASONS, type Reason } from "../reconcilers/installation/reasons.ts";
import { statusOf } from "../reconcilers/installation/status.ts";
import type { Installation } from "../src/api/installation.ts";
import { aConfiguration, anInstallation, NOW, theSurroundings } from "./support/installations.ts";
import { type KStatus, kstatusOf } from "./support/kstatus.ts";
import { runLua } from "./support/lua.ts";
import { reconciling, unavailable } from "./support/reconciling.ts";

const page = readFileSync(join(import.meta.dirname, "../docs/argo-cd.md"), "utf8");
const crd = parse(
  readFileSync(join(import.meta.dirname, "../crds/ipam-operator.io_ipaminstallations.yaml"), "utf8"),
) as { spec: { group: string; names: { kind: string } } };
const [, fence = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
const { data } = parse(fence) as { data: Record<string, string> };
const [key, script] = Object.entries(data)[0]!;

interface Health {
  readonly status: string;
  readonly message: string;
}
const healthOf = async (installation: Installation) => (await runLua(script, installation)) as Health;

/** What Argo CD calls each state of kstatus. */
const HEALTH: Readonly<Record<KStatus, string>> = {
  Current: "Healthy",
  InProgress: "Progressing",
  Failed: "Degraded",
  Terminating: "Progressing",
};

it("is under the key that Argo CD reads for the kind", () => {
  expect(Object.keys(data)).toHaveLength(1);
  expect(key).toBe(`resource.customizations.health.${crd.spec.group}_${crd.spec.names.kind}`);
});

const settled = (reason: Reason, message: string, installation = anInstallation({ maxBlocksPerHost: 8 })) => ({
  ...installation,
  status: statusOf({
    installation,
    outcome: { reason, message },
    stored: aConfiguration({ strictAffinity: true, maxBlocksPerHost: 8 }),
    otherNames: [],
    drift: { corrected: [], suspended: [] },
    configured: [],
    surroundings: theSurroundings(),
    now: NOW,
  }),
});

it.each(Object.keys(REASONS) as Reason[])("agrees with kstatus, and gives reason and message: %s", async (reason) => {
  const installation = settled(reason, 'why "this": é');
  const health = await healthOf(installation);
  expect(health.status).toBe(HEALTH[kstatusOf(installation)]);
  expect(health.message).toBe(`${reason}: why "this": é`);
});

it.each([
  ["Succeeded", "Healthy"],
  ["InvalidSpec", "Degraded"],
  ["DriftFight", "Degraded"],
] as const)("keeps the health of an Installation that was %s when it was paused", async (reason, expected) => {
  const before = settled(reason, "why");
  const paused = settled("Paused", "paused", { ...before, spec: { ...before.spec, managementPolicy: "Paused" } });
  expect((await healthOf(paused)).status).toBe(expected);
});

describe("what the reconciler stores", () => {
  const { enforce, install, installed, reconcile, store, storeWith, world } = reconciling();

  it("is Progressing before the first reconcile, then Healthy, then Progressing until an edit is reconciled", async () => {
    await enforce({ strictAffinity: true });
    expect(await healthOf(await installed())).toEqual({
      status: "Progressing",
      message: "Waiting for the operator to reconcile this generation",
    });
    await reconcile();
    expect((await healthOf(await installed())).status).toBe("Healthy");
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    expect((await healthOf(await installed())).status).toBe("Progressing");
    await reconcile();
    expect((await healthOf(await installed())).status).toBe("Healthy");
  });

  it("is Healthy under Observe while the stored configuration differs", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true });
    await install({ managementPolicy: "Observe", ipam: { strictAffinity: true } });
    await reconcile();
    const { status, message } = await healthOf(await installed());
    expect(status).toBe("Healthy");
    expect(message).toMatch(/^Observed: /);
  });

  it("is Progressing while Calico's data is locked, and while the API server does not answer", async () => {
    world.surroundings = theSurroundings({ datastoreLocked: true });
    await enforce({ strictAffinity: true });
    await reconcile();
    expect(await healthOf(await installed())).toMatchObject({
      status: "Progressing",
      message: expect.stringMatching(/^DatastoreLocked: /),
    });
    world.surroundings = theSurroundings();
    await reconcile(storeWith({ create: () => Promise.reject(unavailable()) })).catch(() => undefined);
    expect((await healthOf(await installed())).status).toBe("Progressing");
  });

  it("is Degraded where Windows nodes need strict affinity", async () => {
    const windows = { name: "w", labels: {}, windows: true, podCapacity: 110 };
    world.surroundings = theSurroundings({ nodes: [windows] });
    await enforce({ strictAffinity: false });
    await reconcile();
    expect(await healthOf(await installed())).toMatchObject({
      status: "Degraded",
      message: expect.stringMatching(/^WindowsNeedsStrictAffinity: /),
    });
  });

  it("is Progressing while it is deleted, however it was", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    const { metadata, ...rest } = await installed();
    const deleted = { ...rest, metadata: { ...metadata, deletionTimestamp: NOW.toISOString() } };
    expect((await healthOf(deleted)).status).toBe(HEALTH[kstatusOf(deleted)]);
  });
});
