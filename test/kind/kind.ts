/** A kind cluster for end-to-end tests: a given one, one of the installed kind, or one built from nothing. */
import { startBuilt } from "./built.ts";
import { type Cluster, clusterOf } from "./cluster.ts";
import { openGiven } from "./given.ts";
import { startInstalled, whyNotInstalled } from "./installed.ts";
import type { Say, Started } from "./started.ts";

export interface KindOptions {
  /** Nodes besides the control plane; default 2. A given cluster is taken as it is. */
  readonly workers?: number;
  /** Use this cluster, which the installed kind knows or an earlier run kept, and leave it as it is. */
  readonly cluster?: string;
  /** Leave the cluster there at the end, and say how to use it and how to end it. */
  readonly keep?: boolean;
  /** Told in lines what is done; default: stderr. */
  readonly say?: Say;
}

export interface Kind extends Cluster {
  /** Ends all that was started. When this process ends without having called it, that is done all the same. */
  stop(): Promise<void>;
}

/** Gives a cluster whose nodes are ready. From nothing that takes up to half an hour, with warm caches about a minute. */
export async function startKind(options: KindOptions = {}): Promise<Kind> {
  const { keep = false, say = (line: string) => void process.stderr.write(`kind: ${line}\n`) } = options;
  const since = Date.now();
  const started = await start(options, say);
  const cluster = clusterOf(started.access);
  try {
    await untilNodesReady(cluster);
  } catch (error) {
    say(await cluster.logs());
    await started.stop();
    throw error;
  }
  say(`cluster ${started.access.name} is ready after ${Math.round((Date.now() - since) / 1000)} s`);
  const stop = async () => (keep ? started.keep().forEach(say) : await started.stop());
  return { ...cluster, stop };
}

/** kind itself waits for the control plane's node only, and calls it a success when that is not ready in time. */
async function untilNodesReady({ kubectlOk }: Cluster): Promise<void> {
  await kubectlOk(["wait", "nodes", "--all", "--for=condition=Ready", "--timeout=300s"]);
}

async function start({ workers = 2, cluster }: KindOptions, say: Say): Promise<Started> {
  if (cluster !== undefined) return openGiven(cluster);
  const why = await whyNotInstalled();
  if (why === undefined) return startInstalled(workers, say);
  say(`${why}; so it is built here, without an image registry`);
  return startBuilt(workers, say);
}
