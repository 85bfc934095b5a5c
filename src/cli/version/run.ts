/** Gathers the versions, and says where they do not fit together. */

import { VERSION } from "../../version.ts";
import type { Output } from "../output.ts";
import { type ClusterPlace, choosePlace, type PlaceOptions } from "../place.ts";
import type { Session } from "../session.ts";
import { fieldsText } from "../table.ts";
import { UsageError } from "../usage-error.ts";
import { EXIT, type Given } from "../verb.ts";

export interface ClusterVersions {
  readonly server: string;
  readonly kubernetes: string;
  /** Where the IPAM data is kept. */
  readonly apiGroup: string;
  /** How that was found out. */
  readonly chosenBy: string;
  /** As Calico's ClusterInformation says; absent where there is none, or it may not be read. */
  readonly calico?: string;
  /** A sentence for each thing that does not fit; empty: all fits. */
  readonly skew: readonly string[];
}

export interface VersionReport {
  readonly client: { readonly version: string; readonly node: string };
  readonly cluster?: ClusterVersions;
}

export async function run(session: Session, { options }: Given): Promise<number | undefined> {
  const client = { version: VERSION, node: process.version };
  const place = options["client"] ? undefined : clusterOf(session, options);
  if (place === undefined) {
    await session.print(versionOutput({ client }));
    return;
  }
  const { clusterVersions } = await import("./cluster.ts");
  const found = await clusterVersions(place, session).catch((error: Error) => error);
  if (!(found instanceof Error)) {
    await session.print(versionOutput({ client, cluster: found }));
    return;
  }
  session.signal.throwIfAborted();
  await session.print(versionOutput({ client }));
  session.say(`${session.program}: ${found.message}`);
  return EXIT.error;
}

/** This program has a version wherever it is: where no cluster is named, none is asked. */
function clusterOf({ say, env }: Session, options: PlaceOptions): ClusterPlace | undefined {
  try {
    const place = choosePlace(options, { env });
    return place.kind === "cluster" ? place : undefined;
  } catch (error) {
    if ((!(error instanceof UsageError) || options.kubeconfig) ?? options.context ?? options.datastore !== "auto")
      throw error;
    say(error.message);
    return undefined;
  }
}

export function versionOutput(report: VersionReport): Output {
  const { client, cluster } = report;
  const lines: Line[] = [["Client", `ipamctl ${client.version}, Node ${client.node}`]];
  if (cluster) lines.push(...clusterLines(cluster));
  return { kind: "Version", value: { ...report }, names: [client.version], text: (style) => fieldsText(lines, style) };
}

type Line = readonly [name: string, value: string];

function clusterLines({ server, kubernetes, apiGroup, chosenBy, calico, skew }: ClusterVersions): Line[] {
  return [
    ["Cluster", `Kubernetes ${kubernetes} at ${server}`],
    ["Calico", calico ?? "does not say"],
    ["IPAM data", `${apiGroup} (${chosenBy})`],
    ...(skew.length > 0 ? skew : ["none"]).map((text) => ["Skew", text] as const),
  ];
}
