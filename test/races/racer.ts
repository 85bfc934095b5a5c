/** A process of its own that takes and gives back addresses as fast as it can: `racer.ts OPTIONS`, a JSON text. */
import { cachedDatastore } from "../../src/datastore/cached.ts";
import type { Flavour } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { connect } from "../../src/kube/rest.ts";
import { callsIn, holdingsOf, note, readJournal } from "./journal.ts";

export interface RacerOptions {
  readonly kubeconfig: string;
  readonly flavour: Flavour;
  readonly host: string;
  /** Its own, and of the process in whose place it came. */
  readonly journal: string;
  readonly handlePrefix: string;
  /** Calls to make, those already in the journal included. */
  readonly calls: number;
  /** Reads from watch-fed caches. */
  readonly cached: boolean;
}

const MOST_HELD = 10;
const options: RacerOptions = JSON.parse(process.argv[2] ?? "");
const { host, journal, flavour } = options;
const client = await connect({ kubeconfig: options.kubeconfig });
const direct = openKubernetes({ client, flavour });
const cache = options.cached ? cachedDatastore(direct) : undefined;
await cache?.synced();
const ipam = createIpam({ datastore: cache ?? direct, hostname: host, nodes: async () => ({}), warn: () => {} });

const before = readJournal(journal);
const { held: left, uncertain: unfinished } = holdingsOf(before);
const held = new Map(left);
const uncertain = new Set(unfinished);
let number = before.length;

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;
const below = (bound: number) => Math.floor(Math.random() * bound);

async function take(call: (handleID: string) => Promise<readonly string[]>): Promise<void> {
  const handle = `${options.handlePrefix}-${number++}`;
  note(journal, "taking", handle, []);
  const ips = (await call(handle)).map((ip) => ip.split("/")[0]!);
  note(journal, "got", handle, ips);
  if (ips.length > 0) held.set(handle, ips);
}

const autoAssign = () =>
  take(async (handleID) => {
    const { v4 } = await ipam.autoAssign({ num4: 1 + below(3), handleID, intendedUse: "Workload" });
    return v4?.ips ?? [];
  });

const assignIP = () =>
  take(async (handleID) => {
    const ip = `10.0.0.${below(256)}`;
    try {
      await ipam.assignIP({ ip, handleID });
      return [ip];
    } catch (error) {
      if (isIpamError(error, "AlreadyExists")) return [];
      throw error;
    }
  });

async function release(): Promise<void> {
  const [handle, ips] = pick([...held]);
  held.delete(handle);
  note(journal, "releasing", handle, ips);
  if (Math.random() < 0.5) await ipam.releaseByHandle(handle);
  else await ipam.releaseIPs(ips.map((address) => ({ address, handle })));
  note(journal, "released", handle, ips);
}

async function claim(): Promise<void> {
  const cidr = `10.0.0.${16 * below(16)}/28`;
  note(journal, "claiming", "", []);
  const owner = { affinityType: "host", host } as const;
  if (Math.random() < 0.5) await ipam.claimAffinity(cidr, owner);
  else await ipam.releaseAffinity(cidr, host, false);
}

/** What was cut off is ended first, as the next call of whoever died would. */
async function recover(handle: string): Promise<void> {
  note(journal, "releasing", handle, []);
  await ipam.releaseByHandle(handle).catch((error: unknown) => {
    if (!isIpamError(error, "NotFound")) throw error;
  });
  note(journal, "released", handle, []);
}

async function one(): Promise<void> {
  const [cutOff] = uncertain;
  if (cutOff !== undefined) {
    uncertain.delete(cutOff);
    return recover(cutOff);
  }
  if (held.size >= MOST_HELD) return release();
  const dice = Math.random();
  if (dice < 0.1) return claim();
  if (dice < 0.45 && held.size > 0) return release();
  return dice < 0.85 ? autoAssign() : assignIP();
}

for (let done = callsIn(before); done < options.calls; done++) {
  try {
    await one();
  } catch (error) {
    note(journal, "failed", "", [], String((error as Error).stack));
  }
}
await (cache ?? direct).close();
await client.close();
