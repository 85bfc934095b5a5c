/** The racing processes over all rounds: asked for each round, and replaced when they were killed. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Flavour } from "../../../src/datastore/flavours.ts";
import { PROCESSES } from "../field.ts";
import { type Journal, readEntries } from "../journal.ts";
import { HOSTS } from "../racing.ts";
import type { Ground } from "./grounds.ts";
import type { Round } from "./round.ts";

const PROGRAM = join(import.meta.dirname, "racer.ts");

export interface Race {
  readonly ground: Ground;
  readonly number: number;
  readonly flavour: Flavour;
  readonly calls: number;
  readonly pools: readonly string[];
  readonly toggles: boolean;
  readonly deadliness: number;
}

/** What processes that race over a round did. */
export interface Outcome {
  readonly journals: readonly Journal[];
  readonly kills: number;
}

interface Running {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly answers: AsyncIterator<string>;
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
}

export class SizeField {
  readonly #kubeconfig: string;
  readonly #dir: string;
  readonly #running = new Map<number, Running>();

  constructor(kubeconfig: string, dir: string) {
    this.#kubeconfig = kubeconfig;
    this.#dir = dir;
  }

  /** Every second one that is killed is not replaced: what it leaves behind stays for others. */
  async race(race: Race): Promise<Outcome> {
    const rounds = Array.from({ length: PROCESSES }, (_, racer) => this.#roundOf(race, racer));
    await Promise.all(rounds.map((round) => this.#prepare(round)));
    const kills = await Promise.all(rounds.map((round) => this.#run(round)));
    const journals = rounds.map(({ host, cached, journal }) => ({ host, cached, entries: readEntries(journal) }));
    return { journals, kills: kills.reduce((sum, count) => sum + count, 0) };
  }

  async end(): Promise<void> {
    const ended = [...this.#running.values()].map(({ child, exited }) => {
      child.stdin.end();
      return exited;
    });
    await Promise.all(ended);
  }

  /** Two racers a host: one reads from the server, one from watch-fed caches, unless the ground wants both to. */
  #roundOf({ ground, number, ...race }: Race, racer: number): Round {
    const { base, addresses, most, draws } = ground;
    return {
      ...race,
      racer,
      host: HOSTS[racer % HOSTS.length]!,
      journal: join(this.#dir, `round-${number}-racer-${racer}.journal`),
      cached: ground.cached || racer >= PROCESSES / 2,
      ...{ base, addresses, most },
      ...(draws && { draws: draws[racer % draws.length]! }),
      toggles: race.toggles && racer === 0,
    };
  }

  #prepare(round: Round): Promise<boolean> {
    return this.#ask(round.racer, JSON.stringify(round));
  }

  async #run(round: Round): Promise<number> {
    for (let kills = 0; ; kills++) {
      if (await this.#ask(round.racer, "go")) return kills;
      if (round.racer % 2 === 1) return kills + 1;
      await this.#prepare(round);
    }
  }

  /** False where the racer was killed instead of answering. */
  async #ask(racer: number, line: string): Promise<boolean> {
    const { child, answers, exited } = this.#process(racer);
    child.stdin.write(`${line}\n`);
    if (!(await answers.next()).done) return true;
    this.#running.delete(racer);
    const [code, signal] = await exited;
    if (signal !== "SIGKILL") throw new Error(`racer ${racer} ended with ${code ?? signal}`);
    return false;
  }

  #process(racer: number): Running {
    const running = this.#running.get(racer) ?? start(this.#kubeconfig);
    this.#running.set(racer, running);
    return running;
  }
}

function start(kubeconfig: string): Running {
  const child = spawn(process.execPath, [PROGRAM, kubeconfig], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {}); // of one that was killed
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, answers, exited: once(child, "exit") as Running["exited"] };
}
