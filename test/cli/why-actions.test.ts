/** TRY-40: `why` leads with the true cause, and what it says to run clears that cause: done here, state by state. */
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { IPPool } from "../../src/api/v3.ts";
import { createIpam } from "../../src/ipam/client.ts";
import type { Labelled } from "../../src/ipam/nodes.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { CAUSES, type CauseCode } from "../../src/judgement/why/codes.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { NOW } from "./sound.ts";
import { STATES, type State } from "./why-states.ts";
import { type Site, siteOf } from "./writing-site.ts";

interface Answer {
  readonly state: string;
  readonly summary: string;
  readonly causes: readonly { readonly code: CauseCode; readonly message: string; readonly command: string }[];
}

/** As on a cluster: there, kubectl's commands are advised. */
async function whyOn(site: Site, { asked = ["waiting"] }: State, now = NOW): Promise<Answer> {
  const snapshot: Snapshot = { ...(await site.snapshot()), datastore: "projectcalico.org/v3" };
  const { stdout, stderr } = await ipamctl(["why", ...asked, "-o", "json"], { snapshot, now: () => now });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const words = (command: string) => [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);

async function carryOut(site: Site, command: string): Promise<void> {
  const [tool, verb, ...rest] = words(command);
  if (tool === "ipamctl") {
    const grace = verb === "gc" || verb === "repair" ? ["--grace", "0"] : [];
    const copy = verb === "repair" ? ["--copy", scratchFile("copy.jsonl")] : [];
    const ran = await site.run([verb!, ...rest, ...grace, ...copy, "--yes"]);
    expect(ran.code, `${command}: ${ran.stderr}${ran.stdout}`).toBe(0);
  } else if (command.startsWith("kubectl delete pod -n ")) {
    const [namespace, name] = rest.slice(-2);
    const { pods = [] } = await site.snapshot();
    site.around({ pods: pods.filter((pod) => pod.namespace !== namespace || pod.name !== name) });
  } else if (command.startsWith("kubectl patch ippools.projectcalico.org ")) {
    const patch = parse(rest.at(-1)!) as Pick<IPPool, "spec">;
    await site.change(async (store) => {
      const found = await store.get("IPPool", rest[1]!);
      await store.update({ ...found, spec: { ...found.spec, ...patch.spec } });
    });
  } else if (command === "calicoctl datastore migrate unlock") {
    const { clusterInformation } = await site.snapshot();
    site.around({ clusterInformation: { ...clusterInformation!, ready: true } });
  } else {
    throw new Error(`this changes nothing: ${command}`);
  }
}

/** A block that is drained goes step by step. */
const MOST_ROUNDS = 4;

it.each(STATES.map((state) => [state.code, state.what, state] as const))("%s: %s", async (code, _what, state) => {
  const site = await siteOf(state.snapshot);
  const first = await whyOn(site, state);
  expect(first.causes[0], first.summary).toMatchObject({ code });
  if (state.wait !== undefined) {
    const later = new Date(NOW.getTime() + state.wait * 1000);
    expect((await whyOn(site, state, later)).state).not.toBe("fails");
    return;
  }
  let answer = first;
  for (let round = 0; answer.state === "fails" && round < MOST_ROUNDS; round++) {
    if (state.person && round === 0) await state.person(site);
    else await carryOut(site, answer.causes[0]!.command);
    answer = await whyOn(site, state);
  }
  expect(answer.causes, answer.summary).toEqual([]);
  if (state.asked === undefined) expect(await nextAddresses(site)).toHaveLength(1);
});

/** What the library gives the pod that waits. */
async function nextAddresses(site: Site): Promise<readonly string[]> {
  const { nodes = [], namespaces = [], pods = [] } = await site.snapshot();
  const labelsOf = (list: readonly { name: string; labels: object }[], wanted: string) =>
    ({ metadata: { labels: list.find(({ name }) => name === wanted)?.labels ?? {} } }) as Labelled;
  const { askedAddresses: [ip] = [] } = pods.find(({ name }) => name === "waiting")!;
  let given: readonly string[] = [];
  await site.change(async (datastore) => {
    const nodesOf = async (name: string) => labelsOf(nodes, name);
    const ipam = createIpam({ datastore, clock: () => NOW, windowsHost: false, nodes: nodesOf });
    const args = { hostname: "node-a", handleID: "next", intendedUse: "Workload" } as const;
    if (ip !== undefined) {
      await ipam.assignIP({ ...args, ip });
      given = [ip];
      return;
    }
    const { v4 } = await ipam.autoAssign({ ...args, num4: 1, namespace: labelsOf(namespaces, "shop") });
    given = v4!.ips;
  });
  return given;
}

it("every cause that a stored object shows is in the table", () => {
  const outside: readonly CauseCode[] = ["OtherIPAM", "NotAddresses"];
  const missing = (Object.keys(CAUSES) as CauseCode[]).filter(
    (code) => !outside.includes(code) && !STATES.some((state) => state.code === code),
  );
  expect(missing).toEqual([]);
});

it("no block of a node without blocks is called full", async () => {
  for (const state of STATES) {
    const site = await siteOf(state.snapshot);
    const { causes } = await whyOn(site, state);
    for (const { message } of causes)
      expect(message).not.toMatch(/\b0 blocks (are|that are) full|which are full.*owns no/);
  }
});
