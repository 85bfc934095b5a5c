/**
 * The judgement: what is wrong with a snapshot. Pure. What `check` shows, what `repair` mends, what `gc` and the operator's
 * collection free is all decided here, so that they cannot disagree.
 */
import { kindIn } from "../api/kind-names.ts";
import { CODES, FAMILIES } from "./codes.ts";
import { type Finding, keyOf, type Report, SEVERITIES } from "./finding.ts";
import { inventoryOf } from "./inventory.ts";
import type { Snapshot } from "./snapshot.ts";

export interface JudgeOptions {
  readonly now: Date;
  /**
   * What an earlier look found. A finding that may be a change under way is then told only where it was found before;
   * without an earlier look all are told.
   */
  readonly earlier?: readonly Finding[] | undefined;
}

/** What is wrong: the worst first, then in the order of the codes. */
export function judge(snapshot: Snapshot, { now, earlier }: JudgeOptions): Finding[] {
  const inventory = inventoryOf(snapshot);
  const found: Finding[] = [];
  const report: Report<string> = (code, object, message, evidence = {}) => {
    const { severity, mend } = CODES[code]!;
    const finding = { code, severity, object, message, ...given(evidence) };
    const named = { ...object, kind: kindIn(snapshot.datastore, object.kind) };
    found.push({ ...finding, object: named, command: mend.command(finding, inventory) });
  };
  for (const { look } of FAMILIES) look(inventory, report, now);
  const seen = earlier && new Set(earlier.map(keyOf));
  const lasting = found.filter((finding) => !seen || !isMoving(finding) || seen.has(keyOf(finding)));
  return lasting.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** Whether a finding, seen once, may be a change under way. */
export function isMoving({ code }: Finding): boolean {
  return CODES[code]?.moving === true;
}

function given<T extends object>(evidence: T): Partial<T> {
  return Object.fromEntries(Object.entries(evidence).filter(([, value]) => value !== undefined)) as Partial<T>;
}
