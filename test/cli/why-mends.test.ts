/** What `why` tells to run mends what it told: the cause is gone afterwards, or stands before whoever looks. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { CAUSES } from "../../src/judgement/why/codes.ts";
import { configuration, pool, reservation } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { situation } from "./situations.ts";
import { pod } from "./sound.ts";

const POOL = pool("pods", "10.0.0.0/29", { blockSize: 30 });

async function made(spec: IPAMConfigurationSpec, ...pools: (typeof POOL)[]) {
  const here = situation();
  for (const each of [POOL, ...pools]) await here.store.create(each);
  await here.store.create(configuration(spec));
  return here;
}

const answer = async (snapshot: Snapshot) =>
  JSON.parse((await ipamctl(["why", "waiting", "-o", "json"], { snapshot })).stdout);

describe("the command that is told mends it", () => {
  it("a configuration that excludes itself, in one go", async () => {
    const here = await made({ strictAffinity: false, autoAllocateBlocks: false });
    const found = await answer(await here.snapshot());
    expect(found.causes[0]).toMatchObject({
      command: "ipamctl configure --auto-allocate-blocks true",
      does: CAUSES.InvalidConfiguration.does,
    });
    await here.ipam.setIPAMConfig({ autoAllocateBlocks: true });
    expect((await answer(await here.snapshot())).causes).toEqual([]);
    expect(await here.next("node-a")).toBe(1);
  });

  it("a selector that cannot be read is edited where it stands", async () => {
    const broken = pool("broken", "10.1.0.0/29", { blockSize: 30, nodeSelector: "all(" });
    const beside = await (await made({}, broken)).snapshot({ datastore: "crd.projectcalico.org/v1" });
    expect((await answer(beside)).causes, "the other pool gives addresses").toEqual([]);
    const here = situation();
    await here.store.create(broken);
    const snapshot = await here.snapshot({ datastore: "crd.projectcalico.org/v1" });
    const { causes } = await answer(snapshot);
    expect(causes).toMatchObject([
      { code: "UnreadableSelector", command: "kubectl edit ippools.crd.projectcalico.org broken" },
    ]);
  });

  it("of reservations those are named that are in the way", async () => {
    const here = await made({});
    await here.store.create(reservation("elsewhere", "10.9.0.0/29"));
    await here.store.create(reservation("here", "10.0.0.0/29"));
    const snapshot = await here.snapshot({ datastore: "projectcalico.org/v3" });
    const [cause] = (await answer(snapshot)).causes;
    expect(cause).toMatchObject({
      code: "Reserved",
      message: expect.stringMatching(/reserved by IPReservation here$/),
      command: "kubectl edit ipreservations.projectcalico.org here",
    });
  });
});

it("SEC-03: what a pod's author wrote is not run by whoever copies the command", async () => {
  const evil = "10.0.0.1; touch 'pwned' $(id)";
  const here = await made({});
  const pods = [pod("waiting", "node-a", [], { phase: "Pending", askedAddresses: [evil] })];
  const { causes } = await answer(await here.snapshot({ pods }));
  expect(causes).toMatchObject([{ code: "AddressTaken", command: expect.stringMatching(/^ipamctl show --ip '/) }]);
  const { stdout } = spawnSync("sh", ["-c", `ipamctl() { printf '%s\\n' "$@"; }; ${causes[0].command}`], {
    encoding: "utf8",
  });
  expect(stdout.split("\n").slice(0, 3)).toEqual(["show", "--ip", evil]);
});
