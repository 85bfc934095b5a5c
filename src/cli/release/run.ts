/** Plans which addresses are released, and from which nobody may take them. */
import { plural } from "../../api/plural.ts";
import type { Allocation } from "../../judgement/allocations.ts";
import { freeAt, type Inventory, inventoryOf } from "../../judgement/inventory.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import type { Kept, Plan } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { releaseSteps } from "./batch.ts";
import { type Selection, type Selector, selected, selectorOf } from "./select.ts";
import { type Standing, standings } from "./standing.ts";
import { type Unit, unitItem, unitsOf } from "./unit.ts";

interface Options extends WriteOptions, Selection {
  readonly ip?: string;
  readonly fromReport?: readonly string[];
  readonly evenInUse?: boolean;
}

const WAYS = ["address", "handle", "pod", "node", "fromReport"] as const;

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as Options;
  const address = [...given.arguments, ...(options.ip === undefined ? [] : [options.ip])];
  const asked = { ...options, ...(address.length > 0 && { address }) };
  if (WAYS.filter((way) => asked[way] !== undefined).length !== 1) {
    throw new UsageError("say what to release in one way: ADDRESS..., --handle, --pod, --node or --from-report.");
  }
  const { fromReport, force = false } = options;
  if (fromReport !== undefined) {
    const { planFromReports } = await import("./from-report.ts");
    const lock = force ? "either" : "locked";
    const plan = (workplace: Workplace) => planFromReports(session, workplace, { paths: fromReport, force });
    return carryOut(session, { verb: "release --from-report", options, lock, plan });
  }
  const selector = selectorOf(asked);
  const plan = (workplace: Workplace) => planOf(session, workplace, selector, options.evenInUse === true);
  return carryOut(session, { verb: "release", options, lock: "unlocked", plan });
}

async function planOf(session: Session, workplace: Workplace, selector: Selector, evenInUse: boolean): Promise<Plan> {
  const inventory = inventoryOf(await session.snapshot());
  const standing = standings(inventory.snapshot);
  const { held, cooling } = selected(inventory, selector);
  const judged = unitsOf(held).map((unit) => ({ unit, standing: worst(unit, standing) }));
  const goes = judged.filter((each) => isGranted(each.standing, evenInUse));
  const stays = judged.filter((each) => !goes.includes(each));
  const released = goes.flatMap(({ unit }) => unit.allocations).length;
  return {
    kind: "Release",
    title: `Release ${plural(released, "address")}${selector.words && ` of ${selector.words}`}`,
    steps: releaseSteps(
      { workplace, seen: inventory.snapshot, keptBecause: (now) => refusal(standings(now), evenInUse) },
      goes.map(({ unit, standing: { why } }) => ({ unit, why })),
    ),
    kept: [
      ...stays.map(({ unit, standing }) => refused(unit, standing)),
      ...cooling.map((allocation) => coolingDown(inventory, allocation)),
      ...notAllocated(selector, [...held, ...cooling]),
    ],
  };
}

const isGranted = (standing: Standing, evenInUse: boolean) => standing.may || (evenInUse && !standing.never);

/** The same question as for the plan, asked again. */
function refusal(standing: (allocation: Allocation) => Standing, evenInUse: boolean) {
  return (allocation: Allocation): string | undefined => {
    const now = standing(allocation);
    return isGranted(now, evenInUse) ? undefined : now.why;
  };
}

/** A unit is released wholly or not at all. */
function worst({ allocations }: Unit, standing: (allocation: Allocation) => Standing): Standing {
  const all = allocations.map(standing);
  return all.find((each) => !each.may && each.never) ?? all.find((each) => !each.may) ?? all[0]!;
}

function refused(unit: Unit, { why, ...standing }: Standing): Kept {
  const advice = !standing.may && standing.never ? "" : "; --even-in-use releases it all the same";
  return { ...unitItem("keep", unit, why + advice), refused: true };
}

/** That it is released already is what was wanted. */
function coolingDown(inventory: Inventory, { address, releasedAt = "" }: Allocation): Kept {
  const why = `was released at ${releasedAt} and cools down until ${freeAt(inventory, releasedAt)}`;
  return { action: "keep", object: address, why, facts: { addresses: [address] } };
}

function notAllocated({ named, words }: Selector, found: readonly Allocation[]): Kept[] {
  const known = new Set(found.map(({ address }) => address));
  if (words && found.length === 0) {
    return [{ action: "keep", object: words, why: "has no address: nothing to do" }];
  }
  const missing = named.filter((address) => !known.has(address));
  return missing.map((object) => ({ action: "keep", object, why: "is not allocated: nothing to do" }));
}
