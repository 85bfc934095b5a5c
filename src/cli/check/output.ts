/** How findings are shown: to people by code, the worst first, with a few examples each; to programs all of them. */

import { CODES } from "../../judgement/codes.ts";
import { type Finding, SEVERITIES, type Severity } from "../../judgement/finding.ts";
import { type Output, type TextStyle, tableOf } from "../output.ts";
import { type Column, sentencesText } from "../table.ts";
import type { Judged } from "./run.ts";

export type Summary = Readonly<Record<Severity, number>>;

export function summaryOf(findings: readonly Finding[]): Summary {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return Object.fromEntries(SEVERITIES.map((severity) => [severity, count(severity)])) as Summary;
}

/** `2 critical, 1 warning, 63145 info`. */
export function summaryText(summary: Summary): string {
  const counts = SEVERITIES.filter((severity) => summary[severity] > 0);
  if (counts.length === 0) return "nothing found";
  return `found ${counts.map((severity) => `${summary[severity]} ${severity}`).join(", ")}`;
}

/** Examples of a code that people are shown. */
const EXAMPLES = 5;

const COLUMNS: readonly Column<Finding>[] = [
  { header: "SEVERITY", value: ({ severity }) => severity, tone: ({ severity }) => severity },
  { header: "CODE", value: ({ code }) => code },
  { header: "OBJECT", value: objectText },
  { header: "ADDRESS", value: ({ address = "" }) => address },
  { header: "MESSAGE", value: ({ message }) => message },
  { header: "MEND", value: ({ command }) => command },
];

export function checkOutput({ snapshot, findings, looks }: Judged): Output {
  const { takenAt, datastore, unread } = snapshot;
  const byCode = Map.groupBy(findings, ({ code }) => code);
  const counts = Object.fromEntries(Array.from(byCode, ([code, { length }]) => [code, length]));
  const value = { takenAt, datastore, looks, summary: summaryOf(findings), counts, unread, items: findings };
  const wide = tableOf(findings, COLUMNS);
  return {
    kind: "CheckReport",
    value,
    names: findings.map((finding) => `${finding.code} ${objectText(finding)} ${finding.address ?? ""}`.trimEnd()),
    text: (style) =>
      style.wide ? wide(style) : [...byCode.values()].map((found) => paragraph(found, style)).join("\n"),
  };
}

function objectText({ object }: Finding): string {
  return `${object.kind}/${object.name}`;
}

function paragraph(findings: readonly Finding[], style: TextStyle): string {
  const { code, severity, command } = findings[0]!;
  const examples = findings.slice(0, EXAMPLES).map((finding) => `  ${objectText(finding)}: ${finding.message}`);
  const rest = findings.length - examples.length;
  const title = sentencesText([`${severity} ${code} (${findings.length}): ${CODES[code]!.title}`], style);
  const lines = [...examples, ...(rest > 0 ? [`  and ${rest} more: -o wide shows all`] : []), `  fix: ${command}`];
  const painted = style.paint(severity, severity) + title.slice(severity.length);
  return painted + sentencesText(lines, style);
}
