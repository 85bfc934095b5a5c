/**
 * A process of its own that calls the library as fast as it can. Its input is a {@link Round} as JSON in one line, which it
 * answers with `ready`, then `go`, which it answers with `done`, and so on; it ends with its input.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { cachedDatastore } from "../../../src/datastore/cached.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openKubernetes } from "../../../src/datastore/kubernetes.ts";
import { createIpam } from "../../../src/ipam/client.ts";
import { connect } from "../../../src/kube/rest.ts";
import { Racing } from "../racing.ts";
import { mortal } from "./mortal.ts";
import { move } from "./moves.ts";
import type { Round } from "./round.ts";

const input = createInterface({ input: process.stdin }).on("close", () => process.exit(1));
const lines = input[Symbol.asyncIterator](); // before anything is waited for: lines that nobody reads are lost
const client = await connect({ kubeconfig: process.argv[2]! });
const stores = new Map<string, Datastore>();
let deadliness = 0;

async function storeFor({ flavour, cached }: Round): Promise<Datastore> {
  const key = `${flavour} ${cached}`;
  const known = stores.get(key);
  if (known) return known;
  const direct = mortal(openKubernetes({ client, flavour }), () => deadliness);
  const cache = cached ? cachedDatastore(direct) : undefined;
  await cache?.synced();
  stores.set(key, cache ?? direct);
  return cache ?? direct;
}

/** A cache may be late: a round whose pools it does not know yet would be over before it began. */
async function knows(store: Datastore, uids: readonly string[]): Promise<void> {
  for (let look = 0; look < 100; look++) {
    const { items } = await store.list("IPPool");
    if (uids.every((uid) => items.some(({ metadata }) => metadata.uid === uid))) return;
    await sleep(20);
  }
}

async function prepare(round: Round): Promise<Racing> {
  const store = await storeFor(round);
  const ipam = createIpam({ datastore: store, hostname: round.host, blockOrder: () => 0n, warn: () => {} });
  const racing = new Racing(round, ipam, store);
  if (racing.made === 0) await knows(store, round.pools);
  return racing;
}

async function race(racing: Racing, round: Round): Promise<void> {
  ({ deadliness } = round);
  for (let made = racing.made; made < round.calls; made++) await move(racing, round, made);
  deadliness = 0;
}

const next = async () => (await lines.next()).value as string;
for (;;) {
  const round: Round = JSON.parse(await next());
  const racing = await prepare(round);
  process.stdout.write("ready\n");
  await next();
  await race(racing, round);
  process.stdout.write("done\n");
}
