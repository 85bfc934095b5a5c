/** Holds the Lease `default/<name>` until it is killed: `node lease-holder.ts <kubeconfig> <name> <identity>`. Says `leading` when it does. */
import { pino } from "pino";
import { createElector } from "../../src/kube/lease.ts";
import { connect } from "../../src/kube/rest.ts";

const [kubeconfig, name, identity] = process.argv.slice(2) as [string, string, string];
const client = await connect({ kubeconfig });
await createElector({
  client,
  namespace: "default",
  name,
  identity,
  log: pino({ level: "silent" }),
  onStartedLeading: () => void process.stdout.write("leading\n"),
}).run(new AbortController().signal);
