/**
 * Processes that race on a real API server and are killed at random: no address is handed out twice, no change is lost,
 * and what the dead leave behind is put right by ordinary calls. IPAM_OPERATOR_RACE_OPERATIONS sets how many calls.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type Ground, isSoundNow, judge } from "./aftermath.ts";
import { Field, PROCESSES } from "./field.ts";
import { createNodes, createPools } from "./racing.ts";
import { failuresIn, summaryOf } from "./verdicts.ts";

const OPERATIONS = Number(process.env["IPAM_OPERATOR_RACE_OPERATIONS"] ?? 1500);
const GENERATIONS = ["v1", "v3"] as const;
const CALLS = Math.ceil(OPERATIONS / GENERATIONS.length / PROCESSES);
const KILLS = Math.ceil(OPERATIONS / GENERATIONS.length / 100);

describe.each(GENERATIONS)("%s", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let ground: Ground;
  let field: Field;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    const datastore = openKubernetes({ client, flavour });
    ground = { datastore, ipam: createIpam({ datastore, warn: () => {} }) };
    await createNodes(client);
    await createPools(datastore);
    field = new Field({ kubeconfig: cluster.kubeconfig, flavour, dir: cluster.dir, calls: CALLS });
  });
  afterAll(async () => {
    field?.end();
    await client?.close();
    await cluster?.stop();
  });

  /** Kills one after the other, each time after the racers have made their share of the calls. */
  async function disturb(): Promise<number> {
    let kills = 0;
    for (let round = 1; round <= KILLS; round++) {
      const due = Math.floor((round * CALLS * PROCESSES) / (KILLS + 1));
      while (field.made < due) await sleep(200);
      if (round % 3 === 0) await field.standingStill(() => isSoundNow(ground));
      if (field.killOne()) kills++;
    }
    return kills;
  }

  test(`${PROCESSES} processes, killed at random`, { timeout: 300_000 + OPERATIONS * 400 }, async () => {
    const started = Date.now();
    const [kills] = await Promise.all([disturb(), field.race()]);
    const journals = field.journals();
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stderr.write(`races on ${flavour}: ${summaryOf(journals)}, ${kills} kills, ${seconds} s\n`);
    expect(failuresIn(journals)).toEqual([]);
    await judge(ground, journals);
  });
});
