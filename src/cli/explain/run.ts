/** Explains codes from the registry that the judgement reports by. */
import { CODES } from "../../judgement/codes.ts";
import type { CodeRow } from "../../judgement/finding.ts";
import { CAUSES } from "../../judgement/why/codes.ts";
import { nearest } from "../nearest.ts";
import { listing, type Output } from "../output.ts";
import type { Session } from "../session.ts";
import { type Column, sentencesText } from "../table.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";

interface Explanation extends Pick<CodeRow, "severity" | "title" | "means"> {
  readonly code: string;
  /** What mends it. */
  readonly mend: string;
  /** Whether it is told only after a second look. */
  readonly secondLook: boolean;
}

export async function run(session: Session, { arguments: [code] }: Given): Promise<undefined> {
  const all = Object.entries(CODES).map(([name, row]) => explanation(name, row));
  if (code === undefined) await session.print(listing("CodeList", all, COLUMNS, (row) => row.code));
  else await session.print(causeExplained(code) ?? explained(named(code, all)));
}

/** Causes of `why` that are no findings of `check`. */
function causeExplained(asked: string): Output | undefined {
  const [code, row] = Object.entries(CAUSES).find(([name]) => name.toLowerCase() === asked.toLowerCase()) ?? [];
  if (code === undefined || row === undefined || Object.hasOwn(CODES, code)) return undefined;
  const lines = [`${code} (cause of \`why\`): ${row.title}`, "", row.means, "", `To do: ${row.does}`];
  const text: Output["text"] = (style) => sentencesText(lines, style, "");
  return { kind: "Cause", value: { code, ...row }, names: [code], text };
}

function named(code: string, all: readonly Explanation[]): Explanation {
  const found = all.find((row) => row.code.toLowerCase() === code.toLowerCase());
  if (found === undefined) throw unknownCode(code);
  return found;
}

export function unknownCode(code: string): UsageError {
  const cause = Object.keys(CAUSES).find((known) => known.toLowerCase() === code.toLowerCase());
  if (cause !== undefined) return new UsageError(`${cause} is a cause of \`why\`, and no finding of \`check\`.`);
  const guess = nearest(code, [...Object.keys(CODES), ...Object.keys(CAUSES)]);
  return new UsageError(`there is no finding with the code '${code}'${guess ? `: did you mean ${guess}?` : "."}`);
}

function explanation(code: string, { severity, title, means, mend, moving }: CodeRow): Explanation {
  return { code, severity, title, means, mend: mend.does, secondLook: moving === true };
}

const COLUMNS: readonly Column<Explanation>[] = [
  { header: "CODE", value: ({ code }) => code },
  { header: "SEVERITY", importance: 1, value: ({ severity }) => severity, tone: ({ severity }) => severity },
  { header: "WHAT", sentence: true, value: ({ title }) => title },
];

function explained({ code, severity, title, means, mend, secondLook }: Explanation): Output {
  const lines = [
    `${code} (${severity}): ${title}`,
    "",
    means,
    ...(secondLook ? ["It may be a change under way: `check` looks twice before it tells of it."] : []),
    "",
    `Fix: ${mend}`,
  ];
  const value = { code, severity, title, means, mend, secondLook };
  return { kind: "Code", value, names: [code], text: (style) => sentencesText(lines, style, "") };
}
