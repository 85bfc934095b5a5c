/** Puts back what a repair changed, where nobody changed it since. */

import { plural } from "../../api/plural.ts";
import type { IpamKind } from "../../api/v3.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { unlessLost } from "../writing/as-seen.ts";
import type { Plan, Step } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { type Change, readCopy, stored } from "./copy.ts";

export async function planRestore({ datastore }: Workplace, path: string): Promise<Plan> {
  const changes = await readCopy(path);
  const steps = changes.reverse().map((change) => restoreStep(datastore, change));
  const title = `Restore ${plural(steps.length, "object")}`;
  return { kind: "Restore", title, steps, kept: [] };
}

function restoreStep(datastore: Datastore, change: Change): Step {
  const { kind, name, before, after } = change;
  const action = before === undefined ? "delete" : after === "gone" ? "create" : "restore";
  const why = before === undefined ? "the repair made it" : `as it was at revision ${before.metadata.resourceVersion}`;
  return { action, object: `${kind}/${name}`, why, run: () => restoreOne(datastore, change) };
}

async function restoreOne(datastore: Datastore, { kind, name, before, after }: Change): Promise<string | undefined> {
  const now = await stored(datastore, kind, name);
  if (now && isAt(now, before?.metadata)) return "was not changed";
  if (after === undefined || (after === "gone" ? now !== undefined : !now || !isAt(now, after))) {
    return "was changed since the repair";
  }
  if (before === undefined) return unlessLost(datastore.delete(now!));
  if (now === undefined) return unlessLost(datastore.create(before));
  const { uid, resourceVersion } = now.metadata;
  return unlessLost(
    datastore.update({ ...before, metadata: { ...before.metadata, uid, resourceVersion } } as typeof before),
  );
}

type Revision = { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | undefined;
const isAt = ({ metadata }: Stored<IpamKind>, at: Revision) =>
  metadata.uid === at?.uid && metadata.resourceVersion === at?.resourceVersion;
