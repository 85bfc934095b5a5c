/** One pass of collection: looks, decides by the judgement, looks again, frees. */
import { collectionOf, type Decision, type TwoLooks } from "../../judgement/collection.ts";
import type { Session } from "../session.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import type { Kept, Plan } from "../writing/plan.ts";
import { graceOf, lookAgain, oneLook } from "../writing/two-looks.ts";
import type { Workplace } from "../writing/workplace.ts";
import { stepsOf } from "./steps.ts";

interface Options extends WriteOptions {
  readonly grace?: string;
}

const GRACE = "60";

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as Options;
  const { dryRun, grace = dryRun ? undefined : GRACE } = options;
  const seconds = grace === undefined ? undefined : graceOf(grace);
  const plan = (workplace: Workplace) => planOf(session, workplace, seconds);
  return carryOut(session, { verb: "gc", options, lock: "unlocked", plan });
}

async function planOf(session: Session, workplace: Workplace, graceSeconds: number | undefined): Promise<Plan> {
  const first = await oneLook(session);
  const once = collectionOf(first, session.now());
  if (graceSeconds === undefined) {
    return planFrom(workplace, first, once, ["looked once: only what a second look finds again is freed"]);
  }
  if (!once.some(needsSecondLook)) return planFrom(workplace, first, once);
  const looks = await lookAgain(session, first, graceSeconds);
  return planFrom(workplace, looks, collectionOf(looks, session.now()));
}

/** That an address has cooled down, its time says. */
const needsSecondLook = ({ action }: Decision) => action !== "keep" && action !== "free";

function planFrom(
  workplace: Workplace,
  { inventory }: TwoLooks,
  decisions: readonly Decision[],
  notes: readonly string[] = [],
): Plan {
  const steps = stepsOf(workplace, inventory.snapshot, decisions);
  const kept = decisions.flatMap((decision): Kept[] => (decision.action === "keep" ? [decision] : []));
  const title = `Free ${steps.length}, and keep ${kept.length}`;
  return { kind: "Collection", title, steps, kept, notes };
}
