/** The writes of a split, one after the other: none is done before the one that it rests on. */
import type { IPPool } from "../../api/v3.ts";
import { type Datastore, isDatastoreError } from "../../datastore/datastore.ts";
import { asSeen } from "../writing/as-seen.ts";
import type { Step } from "../writing/plan.ts";
import { marked } from "./mark.ts";

const LANE = { lane: "split", needed: true } as const;

export function disableStep(datastore: Datastore, source: IPPool, count: number): Step {
  const run = async () => {
    const found = await asSeen(datastore, "IPPool", source);
    if ("changed" in found) return found.changed;
    await datastore.update(marked(found.object, count));
    return undefined;
  };
  return {
    ...LANE,
    action: "disable",
    object: `IPPool/${source.metadata.name}`,
    why: "nothing is to be taken from it",
    run,
  };
}

export function createStep(datastore: Datastore, pool: IPPool): Step {
  const run = async () => {
    await datastore.create({ ...pool, kind: "IPPool" });
    return undefined;
  };
  return { ...LANE, action: "create", object: `IPPool/${pool.metadata.name}`, why: pool.spec.cidr, run };
}

/** As it is by then: disabled. Its blocks keep their owners. */
export function deleteStep(datastore: Datastore, { metadata: { name, uid } }: IPPool): Step {
  const run = async () => {
    try {
      const pool = await datastore.get("IPPool", name, { fresh: true });
      if (pool.metadata.uid !== uid || !pool.spec.disabled) return "was changed since it was looked at";
      await datastore.delete(pool);
      return undefined;
    } catch (error) {
      if (isDatastoreError(error, "NotFound")) return "is gone";
      throw error;
    }
  };
  return { ...LANE, action: "delete", object: `IPPool/${name}`, why: "its parts are there", run };
}
