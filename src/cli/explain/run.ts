/** Explains codes from the registry that the judgement reports by. */
import { CODES } from "../../judgement/codes.ts";
import type { CodeRow } from "../../judgement/finding.ts";
import { nearest } from "../nearest.ts";
import { listing, type Output } from "../output.ts";
import type { Session } from "../session.ts";
import type { Column } from "../table.ts";
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
  await session.print(
    code === undefined ? listing("CodeList", all, COLUMNS, (row) => row.code) : explained(named(code, all)),
  );
}

function named(code: string, all: readonly Explanation[]): Explanation {
  const found = all.find((row) => row.code.toLowerCase() === code.toLowerCase());
  if (found === undefined) throw unknownCode(code);
  return found;
}

export function unknownCode(code: string): UsageError {
  const guess = nearest(code, Object.keys(CODES));
  return new UsageError(`there is no finding with the code '${code}'${guess ? `: did you mean ${guess}?` : "."}`);
}

function explanation(code: string, { severity, title, means, mend, moving }: CodeRow): Explanation {
  return { code, severity, title, means, mend: mend.does, secondLook: moving === true };
}

const COLUMNS: readonly Column<Explanation>[] = [
  { header: "CODE", value: ({ code }) => code },
  { header: "SEVERITY", value: ({ severity }) => severity },
  { header: "WHAT", value: ({ title }) => title },
];

function explained({ code, severity, title, means, mend, secondLook }: Explanation): Output {
  const lines = [
    `${code} (${severity}): ${title}`,
    "",
    means,
    ...(secondLook ? ["It may be a change under way: `check` looks twice before it tells of it."] : []),
    "",
    `Mend: ${mend}`,
  ];
  const value = { code, severity, title, means, mend, secondLook };
  return { kind: "Code", value, names: [code], text: () => `${lines.join("\n")}\n` };
}
