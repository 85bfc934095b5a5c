/** Plans what of a code's findings is mended, in two looks; or what is put back. */
import { plural } from "../../api/plural.ts";
import { CODES } from "../../judgement/codes.ts";
import type { TwoLooks } from "../../judgement/collection.ts";
import type { Finding } from "../../judgement/finding.ts";
import { quoted } from "../../judgement/shell.ts";
import { unknownCode } from "../explain/run.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import type { Item, Plan } from "../writing/plan.ts";
import { graceOf, lookAgain, oneLook } from "../writing/two-looks.ts";
import type { Workplace } from "../writing/workplace.ts";
import { Copy } from "./copy.ts";
import { drainItem, removeBlock } from "./drain.ts";
import { MENDERS } from "./menders.ts";
import { type Mending, mendingOn } from "./mending.ts";

interface Options extends WriteOptions {
  readonly grace?: string;
  readonly all?: boolean;
  readonly copy?: string;
  readonly restore?: string;
}

const GRACE = "60";
const MOST = 100;

export async function run(session: Session, given: Given): Promise<number> {
  const [text] = given.arguments;
  const options = given.options as Options;
  const { restore, dryRun, grace = dryRun ? undefined : GRACE } = options;
  if ((text === undefined) === (restore === undefined)) {
    throw new UsageError("name the code to mend, which `ipamctl check` tells, or --restore FILE: one of them.");
  }
  if (restore !== undefined) {
    const { planRestore } = await import("./restore.ts");
    const plan = (workplace: Workplace) => planRestore(workplace, restore);
    return carryOut(session, { verb: "repair --restore", options, lock: "unlocked", plan });
  }
  const code = mendable(text!);
  const seconds = grace === undefined ? undefined : graceOf(grace);
  const copy = new Copy(options.copy ?? copyName(code, session.now()));
  const plan = async (workplace: Workplace) => {
    const looks = await look(session, code, seconds);
    return planOf(mendingOn(session, looks, workplace, copy), code, options.all === true);
  };
  try {
    if (!dryRun) await copy.begin(); // what cannot be kept is not changed: better told before the looks and the question
    return await carryOut(session, { verb: "repair", options, lock: "unlocked", plan });
  } finally {
    await copy.close();
    if (copy.isUsed) session.say(session.told(`to undo: ipamctl repair --restore ${quoted(copy.path)}`));
  }
}

/** @throws UsageError where there is no such code, or it is mended in another way */
function mendable(text: string): string {
  const code = Object.keys(CODES).find((known) => known.toLowerCase() === text.toLowerCase());
  if (code === undefined) throw unknownCode(text);
  if (Object.hasOwn(MENDERS, code)) return code;
  throw new UsageError(`${code} is not mended by repair. ${CODES[code]!.mend.does}`);
}

export function copyName(code: string, now: Date): string {
  return `ipamctl-repair-${code}-${now.toISOString().replaceAll(/[:.]/g, "-")}.jsonl`;
}

async function look(session: Session, code: string, graceSeconds: number | undefined): Promise<TwoLooks> {
  const first = await oneLook(session);
  const isThere = first.found.some((finding) => finding.code === code);
  if (!isThere) return first;
  if (graceSeconds !== undefined) return lookAgain(session, first, graceSeconds);
  session.say("looked once: only what a second look finds again is repaired");
  return first;
}

type Findings = readonly [Finding, ...Finding[]];

function planOf(mending: Mending, code: string, all: boolean): Plan {
  const ofCode = mending.looks.lasting.filter((finding) => finding.code === code);
  const objects = [...Map.groupBy(ofCode, ({ object }) => `${object.kind}/${object.name}`)];
  const mended = all ? objects : objects.slice(0, MOST);
  const left = objects.length - mended.length;
  return {
    kind: "Repair",
    title: `Repair ${code} of ${plural(mended.length, "object")}`,
    steps: mended.map(([object, findings]) => ({
      object,
      ...itemOf(mending, code, findings),
      run: () => MENDERS[code]!(mending, findings as unknown as Findings),
    })),
    kept: [],
    notes: left > 0 ? [`the first ${MOST} of ${objects.length} objects: --all takes all`] : [],
  };
}

function itemOf(
  { looks }: Mending,
  code: string,
  findings: readonly Finding[],
): Pick<Item, "action" | "why" | "facts"> {
  const why = wordsOf(findings);
  const item = { action: "mend", why, facts: { code } };
  if (MENDERS[code] !== removeBlock) return item;
  const removal = drainItem(looks.inventory, findings[0]!.object.name, why);
  return { ...item, ...removal, facts: { ...item.facts, ...removal.facts } };
}

function wordsOf([first, ...others]: readonly Finding[]): string {
  return others.length === 0 ? first!.message : `${first!.message}; and ${others.length} more`;
}
