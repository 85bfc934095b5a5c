/** The reference page of the codes, from the registry. */
import { FAMILIES } from "./codes.ts";
import type { CodeRow } from "./finding.ts";
import { CAUSES } from "./why/codes.ts";

/** The page by its path. */
export function generateFindingsReference(): Map<string, string> {
  const page = [
    "# Findings of `ipamctl check`",
    "",
    "Generated from `src/judgement/families/`; change it there. A code is stable: programs and runbooks may rely on it.",
    "`critical`: traffic breaks or an address is given twice, now or at the next allocation. `warning`: addresses are lost,",
    "or something will fail. `info`: untidy, and harmless. Codes that are looked at twice compare objects which are written",
    "one after the other: seen once, they may be a change under way.",
    ...FAMILIES.flatMap(({ title, codes }) => ["", `## ${title}`, ...Object.entries(codes).flatMap(section)]),
    "",
    "## Causes of `ipamctl why`",
    "",
    "Why a pod gets no address; the same code as a finding's means the same.",
    "",
    "| cause | what | meaning | what to do |",
    "|---|---|---|---|",
    ...Object.entries(CAUSES).map(([code, { title, means, does }]) => `| ${code} | ${title} | ${means} | ${does} |`),
    "",
  ];
  return new Map([["docs/reference/findings.md", page.join("\n")]]);
}

function section([code, { severity, title, means, mend, moving }]: [string, CodeRow]): string[] {
  return [
    "",
    `### ${code}`,
    "",
    `**${title}.** (${severity}${moving ? ", looked at twice" : ""})`,
    "",
    means,
    "",
    mend.does,
  ];
}
