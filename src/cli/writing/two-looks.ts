/** Looks twice, some time apart, so that a change under way is not taken for what it looks like in the middle. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TwoLooks } from "../../judgement/collection.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import { judge } from "../../judgement/judge.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";

/** One look, taken for both: what could be done, for a plan that is not carried out or needs no second one. */
export async function oneLook(session: Session): Promise<TwoLooks> {
  const inventory = inventoryOf(await session.snapshot());
  const found = judge(inventory.snapshot, { now: session.now() });
  return { inventory, found, lasting: found, isUnchanged: () => true };
}

/** Waits, says so, and looks again. */
export async function lookAgain(session: Session, first: TwoLooks, graceSeconds: number): Promise<TwoLooks> {
  const earlier = first.found;
  const before = revisionsOf(first.inventory.snapshot);
  session.say(`looking again in ${graceSeconds} s, so that nothing is taken for leaked that is only being changed`);
  await sleep(graceSeconds * 1000, undefined, { signal: session.signal });
  const inventory = inventoryOf(await session.snapshot());
  const now = session.now();
  return {
    inventory,
    found: judge(inventory.snapshot, { now }),
    lasting: judge(inventory.snapshot, { now, earlier }),
    isUnchanged: ({ kind, metadata }) => before.get(`${kind}/${metadata.name}`) === revisionOf({ metadata }),
  };
}

type Revised = {
  readonly metadata: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
};
const revisionOf = ({ metadata }: Revised) => `${metadata.uid} ${metadata.resourceVersion}`;

function revisionsOf({ blocks, affinities, handles }: Snapshot): Map<string, string> {
  return new Map(
    [...blocks, ...affinities, ...handles].map((object) => [
      `${object.kind}/${object.metadata.name}`,
      revisionOf(object),
    ]),
  );
}

/** Seconds of a flag. @throws UsageError */
export function graceOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--grace '${text}' is no number of seconds from 0 to 3600.`);
}
