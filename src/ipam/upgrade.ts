/** Rows older than labels are invisible to their host's lists: gives them labels and type. */
import { setTimeout as sleep } from "node:timers/promises";
import { affinityLabels } from "../api/names.ts";
import type { BlockAffinity } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { withState } from "./affinity.ts";
import type { Context } from "./context.ts";

const FIRST_DELAY_MS = 100;

/** Tries, ever more slowly, until all rows of the node are upgraded. @throws the last error, when cancelled */
export async function upgradeHost(context: Context, node: string, options: CallOptions): Promise<void> {
  for (let delay = FIRST_DELAY_MS; ; delay *= 2) {
    try {
      return await upgradeOnce(context, node, options);
    } catch (error) {
      await sleep(delay, undefined, options).catch(() => {
        throw error;
      });
    }
  }
}

async function upgradeOnce(context: Context, node: string, options: CallOptions): Promise<void> {
  const { items, malformed } = await context.datastore.list("BlockAffinity", options);
  for (const { name, reason } of malformed) context.warn(`BlockAffinity "${name}" is passed over: ${reason}`);
  const errors: unknown[] = [];
  for (const row of items.filter((row) => row.spec.node === node && isOld(row))) {
    await withState(context, row, row.spec.state, options).catch((error: unknown) => {
      if (!isDatastoreError(error, "NotFound")) errors.push(error);
    });
    options.signal?.throwIfAborted();
  }
  if (errors.length > 0) throw errors.at(-1);
}

/** Labels are missing or not what the spec says: Calico labels a row without a type with an empty one. */
function isOld({ metadata, spec }: BlockAffinity): boolean {
  const { labels = {} } = metadata;
  return !spec.type || Object.entries(affinityLabels(spec)).some(([key, value]) => labels[key] !== value);
}
