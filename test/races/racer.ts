/** A process of its own that calls the library as fast as it can: `racer.ts OPTIONS`, a JSON text. */
import { cachedDatastore } from "../../src/datastore/cached.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import { move } from "./moves.ts";
import { type RacerOptions, Racing } from "./racing.ts";

interface ProcessOptions extends RacerOptions {
  readonly kubeconfig: string;
  /** Calls to make, those already in the journal included. */
  readonly calls: number;
}

// The starter holds the other end of stdin for as long as it lives.
process.stdin.resume().on("end", () => process.exit(1));

const options: ProcessOptions = JSON.parse(process.argv[2] ?? "");
const { host, flavour, kubeconfig, calls, cached } = options;
const client = await connect({ kubeconfig });
const direct = openKubernetes({ client, flavour });
const cache = cached ? cachedDatastore(direct) : undefined;
await cache?.synced();
const store = cache ?? direct;
const racing = new Racing(options, createIpam({ datastore: store, hostname: host, warn: () => {} }), store);

for (let made = racing.made; made < calls; made++) await move(racing);
await store.close();
await client.close();
process.stdin.destroy();
