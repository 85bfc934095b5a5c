/**
 * Calico's lock of its datastore: `datastoreReady: false` in the ClusterInformation. While it is locked, nobody allocates.
 * Two verbs demand it, because what they change must hold still; the others refuse then.
 */
import type { KubeObject } from "../../api/meta.ts";
import { resources } from "../../api/resources.ts";
import type { Flavour } from "../../datastore/flavours.ts";
import { datastoreError } from "../../datastore/kubernetes-errors.ts";
import type { ClusterInformationFacts } from "../../judgement/facts.ts";
import { isKubeError, type KubeClient } from "../../kube/types.ts";
import { clusterInformationFacts } from "../snapshot/facts.ts";

/** `absent`: the cluster has no ClusterInformation. `none`: an embedded store, which nobody locks. */
export type Lock =
  | { readonly state: "open" | "locked"; readonly information: ClusterInformationFacts }
  | { readonly state: "absent" | "none" };

/** What a verb needs. `either`: it was told to go on without the lock. */
export type LockDemand = "unlocked" | "locked" | "either";

const INFORMATION = { plural: "clusterinformations", kind: "ClusterInformation" };

/** @throws DatastoreError Unauthorized, saying what to grant */
export async function readLock(client: KubeClient, flavour: Flavour, signal: AbortSignal): Promise<Lock> {
  const { group, version } = resources.IPPool[flavour];
  const type = { ...INFORMATION, group, version };
  try {
    const information = clusterInformationFacts(await client.get<KubeObject>(type, "default", { signal }));
    return { state: information.ready ? "open" : "locked", information };
  } catch (error) {
    if (isKubeError(error, "NotFound")) return { state: "absent" };
    throw datastoreError(error, type, "default");
  }
}

/** Who asks, and how it is told a command. */
interface LockCall {
  readonly verb: string;
  readonly told: (text: string) => string;
}

/** @throws Error that says how to lock or unlock */
export function checkLock({ state }: Lock, demand: LockDemand, { verb, told }: LockCall): void {
  if (demand === "either" || state === "none") return;
  if (demand === "unlocked" && state === "locked") {
    const unlock = told("calicoctl datastore migrate unlock");
    throw new Error(
      'Calico\'s datastore is locked (ClusterInformation "default" has datastoreReady: false), and nothing is changed ' +
        `while it is. Once whatever locked it is done: ${unlock}`,
    );
  }
  if (demand === "locked" && state !== "locked") {
    throw new Error(
      `${verb} demands that Calico's datastore is locked, so that nothing is allocated meanwhile. ` +
        `Lock it first: ${told("calicoctl datastore migrate lock")}${state === "absent" ? ' (there is no ClusterInformation "default")' : ""}`,
    );
  }
}
