/** The way of every writing verb: plan, print, confirm, look at the lock, act, report. */

import { foreignWarning } from "../../api/calico-installation.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import { EXIT } from "../verb.ts";
import { checkIpam } from "./foreign-ipam.ts";
import { checkLock, type LockDemand } from "./lock.ts";
import { countsText, type Plan, planText, type Row, rowOf, rowsOutput } from "./plan.ts";
import { work } from "./work.ts";
import type { Workplace } from "./workplace.ts";

/** The flags of every writing verb. */
export interface WriteOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  /** Writes although the cluster's IPAM is not Calico's. */
  readonly force?: boolean;
}

/** What a verb does with an open place. */
export interface Writing {
  readonly verb: string;
  readonly options: WriteOptions;
  readonly lock: LockDemand;
  plan(workplace: Workplace): Promise<Plan>;
}

/**
 * Runs a writing verb. @returns its exit code: 1 where something failed or was refused, 130 where Ctrl-C came in between
 * @throws UsageError where nobody can be asked
 */
export async function carryOut(session: Session, writing: Writing): Promise<number> {
  const { verb, options } = writing;
  if (!options.dryRun && !options.yes && !session.ask) {
    throw new UsageError(`${verb} asks before it acts, and there is no terminal: look with --dry-run, then say --yes.`);
  }
  let workplace: Workplace | undefined;
  let hasBegun = false;
  try {
    workplace = await session.workplace();
    const mayWrite = () => checkAll(session, workplace!, writing);
    await mayWrite();
    const plan = await writing.plan(workplace);
    for (const note of plan.notes ?? []) session.say(note);
    if (options.dryRun) return await report(session, plan, planned(plan));
    if (plan.steps.length === 0) return await report(session, plan, []);
    if (!(await confirmed(session, plan, options))) return EXIT.error;
    await mayWrite();
    hasBegun = true;
    return await act(session, plan);
  } catch (error) {
    if (session.signal.aborted && !hasBegun) session.say("nothing was changed");
    throw error;
  } finally {
    await workplace?.close();
  }
}

/** Before the plan, and again after a question that may have stood open for long. @throws Error where one forbids it */
async function checkAll(
  { told, warn }: Session,
  workplace: Workplace,
  { verb, options, lock }: Writing,
): Promise<void> {
  const foreign = await workplace.foreignIpam();
  checkIpam(foreign, options);
  if (foreign !== undefined) warn(foreignWarning(foreign));
  checkLock(await workplace.lock(), lock, { verb, told });
}

const planned = ({ steps }: Plan): Row[] => steps.map((step) => rowOf(step, "planned"));

async function confirmed(
  { stderr, talk, ask, say, signal }: Session,
  plan: Plan,
  { yes }: WriteOptions,
): Promise<boolean> {
  signal.throwIfAborted();
  stderr.write(planText(plan, talk));
  if (yes) return true;
  const answer = await ask!(`${plan.title}? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  say("nothing was changed");
  return false;
}

async function act(session: Session, plan: Plan): Promise<number> {
  const { signal, say } = session;
  const progress = await session.progress("changing");
  const all = plan.steps.length;
  const rows = await work(plan.steps, {
    signal,
    progress: (behind) => progress.report(`${behind} of ${all}`),
  }).finally(progress.end);
  const code = await report(session, plan, rows);
  if (rows.some(({ result }) => result === "not reached") && signal.aborted) {
    say(`${session.program}: stopped; what was begun is finished`);
    return EXIT.interrupted;
  }
  if (plan.afterwards && code === EXIT.fine) say(session.told(plan.afterwards));
  return code;
}

async function report(session: Session, { kind, kept }: Plan, rows: readonly Row[]): Promise<number> {
  const all = [...rows, ...kept.map((item) => rowOf(item, "kept"))];
  await session.print(rowsOutput(kind, all));
  session.say(countsText(all));
  const went = rows.every(({ result }) => result !== "failed" && result !== "not reached");
  return went && !kept.some(({ refused }) => refused) ? EXIT.fine : EXIT.error;
}
