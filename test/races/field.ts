/** The racing processes of one generation: started, killed, held still, and read from. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Flavour } from "../../src/datastore/flavours.ts";
import { callsInFile, type Journal, readEntries } from "./journal.ts";
import { HOSTS, type RacerOptions } from "./racing.ts";

export const PROCESSES = 8;
const PROGRAM = join(import.meta.dirname, "racer.ts");
/** Long enough for what is under way to the server to arrive. */
const STANDSTILL_MS = 300;

export interface FieldOptions {
  readonly kubeconfig: string;
  readonly flavour: Flavour;
  /** Where the journals are. */
  readonly dir: string;
  /** Calls of each racer, those of the processes before it included. */
  readonly calls: number;
}

export class Field {
  readonly #racers: readonly RacerOptions[];
  readonly #process: Pick<FieldOptions, "kubeconfig" | "calls">;
  readonly #running = new Map<number, ChildProcess>();
  #ended = false;

  /** Two racers a host: one reads from the server, one from watch-fed caches. */
  constructor({ kubeconfig, flavour, dir, calls }: FieldOptions) {
    this.#process = { kubeconfig, calls };
    this.#racers = Array.from({ length: PROCESSES }, (_, racer) => ({
      flavour,
      racer,
      host: HOSTS[racer % HOSTS.length]!,
      journal: join(dir, `racer-${racer}.journal`),
      cached: racer >= PROCESSES / 2,
    }));
  }

  journals(): Journal[] {
    return this.#racers.map(({ host, cached, journal }) => ({ host, cached, entries: readEntries(journal) }));
  }

  /** Calls that all have begun. */
  get made(): number {
    return this.#racers.reduce((sum, { journal }) => sum + callsInFile(journal), 0);
  }

  /** Runs every racer until its calls are made, and another in its place whenever it was killed. */
  async race(): Promise<void> {
    await Promise.all(this.#racers.map((options) => this.#race(options)));
  }

  /** Kills a racer with no warning; false when none runs any more. */
  killOne(): boolean {
    const running = [...this.#running.values()];
    return running[Math.floor(Math.random() * running.length)]?.kill("SIGKILL") ?? false;
  }

  /** Everybody holds still while `look` looks. */
  async standingStill(look: () => Promise<void>): Promise<void> {
    const stopped = [...this.#running.values()].filter((child) => child.kill("SIGSTOP"));
    try {
      await sleep(STANDSTILL_MS);
      await look();
    } finally {
      for (const child of stopped) child.kill("SIGCONT");
    }
  }

  /** Ends the race where it is: nobody comes in the place of those killed now. */
  end(): void {
    this.#ended = true;
    for (const child of this.#running.values()) child.kill("SIGKILL");
  }

  async #race(options: RacerOptions): Promise<void> {
    for (let signal: NodeJS.Signals | null = "SIGKILL"; signal === "SIGKILL" && !this.#ended; ) {
      const text = JSON.stringify({ ...options, ...this.#process });
      const child = spawn(process.execPath, [PROGRAM, text], { stdio: ["pipe", "inherit", "inherit"] });
      this.#running.set(options.racer, child);
      const [code, endedBy] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      this.#running.delete(options.racer);
      signal = endedBy;
      if (signal !== "SIGKILL" && code !== 0) throw new Error(`racer ${options.racer} ended with ${code ?? endedBy}`);
    }
  }
}
