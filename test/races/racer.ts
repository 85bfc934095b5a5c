/** A process of its own that calls the library as fast as it can: `racer.ts OPTIONS`, a JSON text. */
import { cachedDatastore } from "../../src/datastore/cached.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import { assignIP, autoAssign, recover, release, takeVm } from "./address-moves.ts";
import { claim, collectCold, configure, emptyPool, reserve } from "./other-moves.ts";
import { isVm, pick, type RacerOptions, Racing } from "./racing.ts";
import { migrate } from "./vm-moves.ts";

const MOST_HELD = 10;
const options: RacerOptions = JSON.parse(process.argv[2] ?? "");
const { host, flavour, kubeconfig } = options;
const client = await connect({ kubeconfig });
const direct = openKubernetes({ client, flavour });
const cache = options.cached ? cachedDatastore(direct) : undefined;
await cache?.synced();
const store = cache ?? direct;
const racing = new Racing(options, createIpam({ datastore: store, hostname: host, warn: () => {} }), store);

const WEIGHTS = [
  [40, autoAssign],
  [26, release],
  [12, assignIP],
  [7, takeVm],
  [8, claim],
  [3, reserve],
  [3, collectCold],
  [1, emptyPool],
] as const;
const MOVES = WEIGHTS.flatMap(([weight, make]) => Array<typeof make>(weight).fill(make));

async function move(): Promise<void> {
  const [cutOff] = racing.cutOff;
  if (cutOff !== undefined) return recover(racing, cutOff);
  if (racing.held.size >= MOST_HELD) return release(racing);
  if (options.racer < 2 && Math.random() < 0.05) return configure(racing);
  const vms = [...racing.held.keys()].filter(isVm);
  if (vms.length > 0 && Math.random() < 0.08) return migrate(racing, vms);
  const make = pick(MOVES);
  return make === release && racing.held.size === 0 ? autoAssign(racing) : make(racing);
}

for (let made = racing.made; made < options.calls; made++) {
  await move().catch((error: Error) => racing.note("failed", "", { error: String(error.stack) }));
}
await store.close();
await client.close();
