/** Racers of test/races side by side in this process, over stores that a test puts in the way of faults. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { Flavour } from "../../src/datastore/flavours.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { type Journal, readEntries } from "../races/journal.ts";
import { move } from "../races/moves.ts";
import { HOSTS, type RacerOptions, Racing } from "../races/racing.ts";

const AFTER_FAILURE_MS = 200;

export interface RacersOptions {
  readonly dir: string;
  readonly flavour: Flavour;
  /** Each racer's store. */
  readonly stores: readonly { readonly store: Datastore; readonly cached: boolean }[];
}

export class Racers {
  readonly #racers: readonly (RacerOptions & { readonly store: Datastore })[];

  constructor({ dir, flavour, stores }: RacersOptions) {
    const folder = join(dir, crypto.randomUUID());
    this.#racers = stores.map(({ store, cached }, racer) => {
      const host = HOSTS[racer % HOSTS.length]!;
      return { flavour, racer, host, journal: `${folder}-${racer}.journal`, cached, store };
    });
  }

  /** Each makes so many moves. One whose move failed goes on as another process would: from its journal. */
  async run(moves: number): Promise<void> {
    await Promise.all(this.#racers.map((racer) => this.#run(racer, moves)));
  }

  journals(): Journal[] {
    return this.#racers.map(({ host, cached, journal }) => ({ host, cached, entries: readEntries(journal) }));
  }

  async #run({ store, ...options }: RacerOptions & { readonly store: Datastore }, moves: number): Promise<void> {
    const ipam = createIpam({ datastore: store, hostname: options.host, warn: () => {} });
    let racing = new Racing(options, ipam, store);
    for (let made = 0; made < moves; made++) {
      if (await move(racing)) continue;
      await sleep(AFTER_FAILURE_MS);
      racing = new Racing(options, ipam, store);
    }
  }
}
