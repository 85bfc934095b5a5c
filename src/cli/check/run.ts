/** Looks, judges, looks again where what was found may be a change under way, and tells. */
import { setTimeout as sleep } from "node:timers/promises";
import { CODES } from "../../judgement/codes.ts";
import { type Finding, SEVERITIES, type Severity } from "../../judgement/finding.ts";
import { isMoving, judge } from "../../judgement/judge.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { unknownCode } from "../explain/run.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import { EXIT, type Given } from "../verb.ts";
import { checkOutput, summaryOf, summaryText } from "./output.ts";

interface Options {
  readonly ignore?: readonly string[];
  readonly failOn: Severity;
  readonly report?: string;
  readonly secondLook: string;
  readonly bundle?: string;
}

export interface Judged {
  readonly snapshot: Snapshot;
  readonly findings: readonly Finding[];
  /** How many times was looked. */
  readonly looks: 1 | 2;
}

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as unknown as Options;
  const { ignore = [], failOn, report } = options;
  for (const code of ignore) if (!Object.hasOwn(CODES, code)) throw unknownCode(code);
  const pause = secondsOf(options.secondLook);
  const judged = await look(session, options.bundle === undefined ? pause : 0);
  const findings = judged.findings.filter(({ code }) => !ignore.includes(code));
  if (report !== undefined) await writeTo(report, judged, session);
  const told = findings.map((finding) => ({ ...finding, command: session.told(finding.command) }));
  await session.print(checkOutput({ ...judged, findings: told }));
  session.say(summaryText(summaryOf(findings)));
  return exitCode(findings, failOn, judged.snapshot);
}

/** The second look is a whole one: an address that was released and taken again in between is another one. */
export async function look(session: Session, pauseSeconds: number): Promise<Judged> {
  const snapshot = await session.snapshot();
  const findings = judge(snapshot, { now: session.now() });
  const moving = findings.filter(isMoving).length;
  if (moving === 0) return { snapshot, findings, looks: 1 };
  if (pauseSeconds === 0) {
    session.say(`looked once: ${moving} of the findings may be changes under way`);
    return { snapshot, findings, looks: 1 };
  }
  session.say(`${moving} of the findings may be changes under way: looking again in ${pauseSeconds} s`);
  await sleep(pauseSeconds * 1000, undefined, { signal: session.signal });
  const again = await session.snapshot();
  return { snapshot: again, findings: judge(again, { now: session.now(), earlier: findings }), looks: 2 };
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--second-look '${text}' is no number of seconds from 0 to 3600.`);
}

async function writeTo(path: string, judged: Judged, { signal, say }: Session): Promise<void> {
  const { writeReport } = await import("./report.ts");
  await writeReport(path, judged, signal);
  say(`wrote ${path}`);
}

/** Parts without which nobody can say whether an address is in use. */
const OWNERS = ["nodes", "pods", "services"];

/** Not having been able to look is not the same as having found nothing. */
function exitCode(findings: readonly Finding[], failOn: Severity, { unread }: Snapshot): number {
  const least = SEVERITIES.indexOf(failOn);
  if (findings.some(({ severity }) => SEVERITIES.indexOf(severity) <= least)) return EXIT.findings;
  return unread.some(({ part }) => OWNERS.includes(part)) ? EXIT.error : EXIT.fine;
}
