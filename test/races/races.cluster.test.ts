/**
 * Processes that race on a real API server and are killed at random: no address is handed out twice, no change is lost,
 * and what the dead leave behind is put right by ordinary calls. IPAM_OPERATOR_RACE_OPERATIONS sets how many calls.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { check, type Finding } from "../invariants/check.ts";
import { pool } from "../support/ipam-data.ts";
import { Field, HOSTS, PROCESSES } from "./field.ts";
import { holdingsOf, type Journal, valuesOf } from "./journal.ts";
import { isVm, ownerSubject, POOLS } from "./racing.ts";
import { allocationsIn, storedObjects, valuesIn } from "./stored.ts";
import { borrowedWhileStrict, cutOffHandles, handedOutTwice, summaryOf, takenWhileReserved } from "./verdicts.ts";

const OPERATIONS = Number(process.env["IPAM_OPERATOR_RACE_OPERATIONS"] ?? 1500);
const NODE = { group: "", version: "v1", plural: "nodes", kind: "Node" } as const;
const GENERATIONS = ["v1", "v3"] as const;
const CALLS = Math.ceil(OPERATIONS / GENERATIONS.length / PROCESSES);
const KILLS = Math.ceil(OPERATIONS / GENERATIONS.length / 100);

describe.each(GENERATIONS)("%s", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let datastore: Datastore;
  let ipam: Ipam;
  let field: Field;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    datastore = openKubernetes({ client, flavour });
    ipam = createIpam({ datastore, warn: () => {} });
    field = new Field({ kubeconfig: cluster.kubeconfig, flavour, dir: cluster.dir, calls: CALLS });
    for (const name of HOSTS) await client.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name } });
    for (const { name, cidr, blockSize } of POOLS) await datastore.create<"IPPool">(pool(name, cidr, { blockSize }));
  });
  afterAll(async () => {
    field?.end();
    await client?.close();
    await cluster?.stop();
  });

  const isSoundNow = async () =>
    expect(check(await storedObjects(datastore), { mode: "always", now: new Date() })).toEqual([]);

  /** Kills one after the other, each time after the racers have made their share of the calls. */
  async function disturb(): Promise<number> {
    let kills = 0;
    for (let round = 1; round <= KILLS; round++) {
      const due = Math.floor((round * CALLS * PROCESSES) / (KILLS + 1));
      while (field.made < due) await sleep(200);
      if (round % 3 === 0) await field.standingStill(isSoundNow);
      if (field.killOne()) kills++;
    }
    return kills;
  }

  /** Every racer's last word on what it has, and on what it changed, is what is stored. */
  async function nothingIsLost(journals: readonly Journal[]): Promise<void> {
    const objects = await storedObjects(datastore);
    const stored = allocationsIn(objects);
    const ends = journals.map(({ entries }) => holdingsOf(entries));
    const holders = ends.flatMap(({ held }) => [...held].flatMap(([handle, ips]) => ips.map((ip) => [ip, handle])));
    const held = new Map(holders as [string, string][]);
    const uncertain = new Set(ends.flatMap((end) => [...end.uncertain]));
    expect([...held].filter(([ip, handle]) => stored.get(ip)?.handle !== handle)).toEqual([]);
    const surplus = [...stored].filter(([ip, { handle = "" }]) => !held.has(ip) && !uncertain.has(handle));
    expect(surplus).toEqual([]);

    const said = new Map(journals.flatMap(({ entries }) => [...valuesOf(entries)]));
    const pods = [...held].filter(([, handle]) => isVm(handle) && said.has(ownerSubject(handle)));
    expect(pods.filter(([ip, handle]) => stored.get(ip)?.pod !== said.get(ownerSubject(handle)))).toEqual([]);
    const values = valuesIn(objects);
    const others = [...said].filter(([subject]) => !subject.startsWith("owner of "));
    expect(others.filter(([subject, value]) => (values.get(subject) ?? "") !== value)).toEqual([]);
  }

  /** One ordinary call of each host, and all is whole; only counts of handles whose call was cut off may be too high. */
  async function comesToRest(cutOff: ReadonlySet<string>): Promise<void> {
    for (const hostname of HOSTS) {
      await ipam.autoAssign({ hostname, handleID: `last-${hostname}`, num4: 1, num6: 1, intendedUse: "Workload" });
    }
    const utilization = await ipam.getUtilization();
    const left = check({ ...(await storedObjects(datastore)), utilization }, { mode: "atRest", now: new Date() });
    const isExcused = ({ invariant, object }: Finding) =>
      (invariant === 30 || invariant === 32) && cutOff.has(object.replace("IPAMHandle ", ""));
    expect(left.filter((finding) => !isExcused(finding))).toEqual([]);
  }

  /** Everything is given back, and nothing stays but the counts of handles whose call was cut off. */
  async function allIsGivenBack(cutOff: ReadonlySet<string>): Promise<void> {
    const handles = [...allocationsIn(await storedObjects(datastore)).values()].map(({ handle }) => handle!);
    for (const handle of new Set([...cutOff, ...handles])) {
      await ipam.releaseByHandle(handle).catch((error: unknown) => {
        if (!isIpamError(error, "NotFound")) throw error;
      });
    }
    await ipam.setIPAMConfig({ ipCooldownSeconds: 0 });
    const config = await ipam.getIPAMConfig();
    for (const block of (await datastore.list("IPAMBlock")).items) await ipam.garbageCollectColdIPs(config, block);
    for (const host of HOSTS) await ipam.releaseHostAffinities({ affinityType: "host", host }, true);
    const { blocks, affinities, handles: left } = await storedObjects(datastore);
    expect([blocks, affinities]).toEqual([[], []]);
    expect(left.map(({ spec }) => spec.handleID).filter((handle) => !cutOff.has(handle))).toEqual([]);
  }

  test(`${PROCESSES} processes, killed at random`, { timeout: 120_000 + OPERATIONS * 150 }, async () => {
    const started = Date.now();
    const [kills] = await Promise.all([disturb(), field.race()]);
    const journals = field.journals();
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stderr.write(`races on ${flavour}: ${summaryOf(journals)}, ${kills} kills, ${seconds} s\n`);
    expect(journals.flatMap(({ entries }) => entries.flatMap(({ error }) => error ?? []))).toEqual([]);
    expect(handedOutTwice(journals)).toEqual([]);
    expect(takenWhileReserved(journals)).toEqual([]);
    expect(borrowedWhileStrict(journals)).toEqual([]);
    await isSoundNow();
    await nothingIsLost(journals);
    const cutOff = cutOffHandles(journals);
    await comesToRest(cutOff);
    await allIsGivenBack(cutOff);
  });
});
