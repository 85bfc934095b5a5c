/**
 * What a CNI plugin does, in a pod that may do nothing but that: allocates and releases addresses for its node, until
 * SIGUSR2. It says so in JSON lines; the last one is what it still holds. Then it waits to be deleted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AutoAssignResult,
  createIpam,
  isIpamError,
  openKubernetes,
  partialResult,
  workloadHandle,
} from "../../../src/index.ts";

/** What a line of the log says. */
export type Line =
  | { readonly assigned: readonly string[]; readonly handle: string }
  | { readonly short: string; readonly handle: string }
  | { readonly released: string }
  | { readonly held: Readonly<Record<string, readonly string[]>> };

const { NODE_NAME: node = "", WORKER: worker = "" } = process.env;
const mostHandles = 6;
const pauseMs = 100;

const say = (line: Line) => void process.stdout.write(`${JSON.stringify(line)}\n`);
const held = new Map<string, readonly string[]>();
let finished = false;
process.once("SIGUSR2", () => {
  finished = true;
});
process.once("SIGTERM", () => process.exit(0));

const datastore = await openKubernetes({ inCluster: true });
const ipam = createIpam({ datastore, hostname: node });

/** Being short of addresses is an answer: the configuration may allow one block only, and addresses cool down. */
async function assign(count: number): Promise<void> {
  const handle = workloadHandle("e2e", `${worker}-${node}-${count}`);
  const attrs = { node, namespace: "e2e", pod: handle };
  const num4 = 1 + (count % 3);
  const asked = { num4, handleID: handle, intendedUse: "Workload", attrs } as const;
  const { v4 } = await ipam.autoAssign(asked).catch(gotUntilTheLimit);
  const ips = (v4?.ips ?? []).map((ip) => ip.replace(/\/.*/, ""));
  if (ips.length > 0) held.set(handle, ips);
  say(ips.length > 0 ? { assigned: ips, handle } : { short: "none free", handle });
}

/** At the limit of blocks a call fails, and what it got before that is the caller's all the same. */
function gotUntilTheLimit(error: unknown): AutoAssignResult {
  if (!isIpamError(error, "BlockLimit")) throw error;
  return partialResult<AutoAssignResult>(error) ?? { v4: null, v6: null };
}

async function releaseOldest(count: number): Promise<void> {
  const [handle = "", ips = []] = held.entries().next().value!;
  if (count % 2 === 0) await ipam.releaseByHandle(handle);
  else await ipam.releaseIPs(ips.map((address) => ({ address, handle })));
  held.delete(handle);
  say({ released: handle });
}

for (let count = 0; !finished; count++) {
  await assign(count);
  if (held.size > mostHandles) await releaseOldest(count);
  await sleep(pauseMs);
}
say({ held: Object.fromEntries(held) });
await datastore.close();
setInterval(() => undefined, 60_000);
