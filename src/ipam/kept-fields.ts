/**
 * Whether the served IPAMBlock keeps what a cooldown needs. A CRD that is older than `releasedAt` drops it in silence: the
 * address would neither be anyone's nor ever be free. It is found out by a rehearsal of the first write that needs it.
 */
import { resources } from "../api/resources.ts";
import { V1_API_VERSION } from "../api/v1.ts";
import type { IPAMBlock } from "../api/v3.ts";
import { type CallOptions, type Datastore, isDatastoreError } from "../datastore/datastore.ts";
import { isCooling, nextVersion } from "./block.ts";
import type { Context } from "./context.ts";

interface Verdict {
  readonly keeps: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A CRD is upgraded under a running process: a no is asked again. Each write shows whether a yes still holds. */
const NO_HOLDS_MS = 60_000;
const verdicts = new WeakMap<Datastore, Verdict>();

/** Whether entries of `block` that cool down would be stored as they are. */
export async function keepsCooldown(context: Context, block: IPAMBlock, options: CallOptions): Promise<boolean> {
  const { datastore, clock } = context;
  const known = verdicts.get(datastore);
  if (known && (known.keeps || clock().getTime() - known.at < NO_HOLDS_MS)) return known.keeps;
  if (!datastore.rehearse || coolingIn(block) === 0) return true;
  try {
    return stores(context, block, await datastore.rehearse(nextVersion(block), options));
  } catch (error) {
    if (!isDatastoreError(error, "Invalid")) throw error;
    return judged(
      context,
      false,
      `it cannot be found out whether ${crdOf(datastore)} keeps ${FIELD}: ${error.message}`,
    );
  }
}

/** Whether the entries of `block` that cool down are in what the store answered to its write. */
export function stores(context: Context, block: IPAMBlock, stored: IPAMBlock): boolean {
  const cooling = coolingIn(block);
  const keeps = coolingIn(stored) >= cooling;
  return cooling === 0 || judged(context, keeps, `the CRD ${crdOf(context.datastore)} does not keep ${FIELD}`);
}

const FIELD = "spec.attributes[].releasedAt";

function judged({ datastore, clock, warn }: Context, keeps: boolean, why: string): boolean {
  verdicts.set(datastore, { keeps, at: clock().getTime() });
  if (!keeps) {
    warn(
      `${why}, so ipCooldownSeconds is not in force and released addresses are free at once. Upgrade Calico's CRDs, or set ` +
        "ipCooldownSeconds to 0",
    );
  }
  return keeps;
}

function coolingIn({ spec }: IPAMBlock): number {
  return spec.attributes.filter(isCooling).length;
}

function crdOf({ description }: Datastore): string {
  const { plural, group } = resources.IPAMBlock[description === V1_API_VERSION ? "v1" : "v3"];
  return `${plural}.${group}`;
}
