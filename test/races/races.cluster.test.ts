/**
 * Processes that race for addresses on a real API server and are killed at random: none is handed out twice, none is lost,
 * and what the dead leave behind is put right by ordinary calls. IPAM_OPERATOR_RACE_OPERATIONS makes it larger.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { check } from "../invariants/check.ts";
import { handleAt } from "../invariants/model.ts";
import { pool } from "../support/ipam-data.ts";
import { callsIn, handedOutTwice, holdingsOf, readJournal, summaryOf } from "./journal.ts";
import type { RacerOptions } from "./racer.ts";

const OPERATIONS = Number(process.env["IPAM_OPERATOR_RACE_OPERATIONS"] ?? 1500);
const PROCESSES = 8;
const HOSTS = ["host-a", "host-b", "host-c", "host-d"] as const;
const PROGRAM = join(import.meta.dirname, "racer.ts");
const GENERATIONS = ["v1", "v3"] as const;
const CALLS = Math.ceil(OPERATIONS / GENERATIONS.length / PROCESSES);
const KILLS = Math.ceil(OPERATIONS / GENERATIONS.length / 100);

describe.each(GENERATIONS)("%s", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let datastore: Datastore;
  const racing = new Map<string, ChildProcess>();
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    datastore = openKubernetes({ client, flavour });
    await datastore.create(pool("pool-a", "10.0.0.0/24", { blockSize: 28 }));
  });
  afterAll(async () => {
    for (const child of racing.values()) child.kill("SIGKILL");
    await client?.close();
    await cluster?.stop();
  });

  const journalOf = (racer: number) => join(cluster.dir, `racer-${racer}.journal`);
  const journals = () => Array.from({ length: PROCESSES }, (_, racer) => readJournal(journalOf(racer)));
  const failures = () => journals().flatMap((entries) => entries.flatMap(({ error }) => error ?? []));

  /** Runs a racer, and another in its place whenever it was killed, until its calls are made. */
  async function race(racer: number): Promise<void> {
    const options: RacerOptions = {
      kubeconfig: cluster.kubeconfig,
      flavour,
      host: HOSTS[racer % HOSTS.length]!,
      journal: journalOf(racer),
      handlePrefix: `racer-${racer}`,
      calls: CALLS,
      cached: racer >= PROCESSES / 2,
    };
    for (let signal: NodeJS.Signals | null = "SIGKILL"; signal === "SIGKILL"; ) {
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], { stdio: "inherit" });
      racing.set(String(racer), child);
      const [code, endedBy] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      racing.delete(String(racer));
      signal = endedBy;
      if (signal !== "SIGKILL") expect(code).toBe(0);
    }
  }

  async function stored() {
    const kinds = ["IPAMBlock", "BlockAffinity", "IPAMHandle", "IPPool"] as const;
    const lists = await Promise.all(kinds.map((kind) => datastore.list(kind)));
    expect(lists.flatMap(({ malformed }) => malformed)).toEqual([]);
    const [blocks, affinities, handles, pools] = lists.map(({ items }) => items) as never[];
    const nodes = HOSTS.map((name) => ({ name }));
    return {
      blocks: blocks!,
      affinities: affinities!,
      handles: handles!,
      pools: pools!,
      nodes,
      configurations: [],
      reservations: [],
    };
  }

  /** Everybody holds still for the look; what is under way to the server arrives first. */
  async function lookMeanwhile(): Promise<void> {
    const stopped = [...racing.values()].filter((child) => child.kill("SIGSTOP"));
    try {
      await sleep(300);
      expect(check(await stored(), { mode: "always", now: new Date() })).toEqual([]);
    } finally {
      for (const child of stopped) child.kill("SIGCONT");
    }
  }

  /** Kills one after the other, each time after the racers have made their share of the calls. */
  async function disturb(): Promise<number> {
    let kills = 0;
    for (let round = 1; round <= KILLS; round++) {
      const due = Math.floor((round * CALLS * PROCESSES) / (KILLS + 1));
      while (callsIn(journals().flat()) < due) await sleep(200);
      if (round % 3 === 0) await lookMeanwhile();
      const running = [...racing.values()];
      if (running[Math.floor(Math.random() * running.length)]?.kill("SIGKILL")) kills++;
    }
    return kills;
  }

  /** Address and handle of everything allocated. */
  async function allocated(): Promise<Map<string, string | undefined>> {
    const { items } = await datastore.list("IPAMBlock");
    return new Map(
      items.flatMap(({ spec }) => {
        const [base = "", first = "0"] = /^(.*\.)(\d+)\//.exec(spec.cidr)?.slice(1) ?? [];
        return spec.allocations.flatMap((index, ordinal) =>
          index === null ? [] : [[`${base}${Number(first) + ordinal}`, handleAt(spec, ordinal)] as const],
        );
      }),
    );
  }

  test(`${PROCESSES} processes, killed at random`, { timeout: 60_000 + OPERATIONS * 100 }, async () => {
    const started = Date.now();
    const [kills] = await Promise.all([disturb(), ...Array.from({ length: PROCESSES }, (_, racer) => race(racer))]);
    const all = journals();
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stderr.write(`races on ${flavour}: ${summaryOf(all.flat())}, ${kills} kills, ${seconds} s\n`);
    expect(failures()).toEqual([]);
    expect(handedOutTwice(all)).toEqual([]);
    expect(check(await stored(), { mode: "always", now: new Date() })).toEqual([]);

    const ends = all.map(holdingsOf);
    const held = ends.flatMap((end) =>
      [...end.held].flatMap(([handle, ips]) => ips.map((ip) => [ip, handle] as const)),
    );
    const uncertain = new Set(ends.flatMap((end) => [...end.uncertain]));
    const now = await allocated();
    expect(held.filter(([ip, handle]) => now.get(ip) !== handle)).toEqual([]);
    const expected = new Map(held);
    expect([...now].filter(([ip, handle]) => !expected.has(ip) && !uncertain.has(handle ?? ""))).toEqual([]);

    const ipam = createIpam({ datastore, hostname: "host-a", nodes: async () => ({}) });
    for (const handle of new Set([...uncertain, ...held.map(([, handle]) => handle)])) {
      await ipam.releaseByHandle(handle).catch((error: unknown) => {
        if (!isIpamError(error, "NotFound")) throw error;
      });
    }
    expect(await allocated()).toEqual(new Map());
    for (const host of HOSTS) await ipam.releaseHostAffinities({ affinityType: "host", host }, true);
    expect((await datastore.list("BlockAffinity")).items).toEqual([]);
    expect((await datastore.list("IPAMBlock")).items.map(({ spec }) => spec.affinity)).toEqual([]);
  });
});
