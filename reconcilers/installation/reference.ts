/** The reference page of reasons, generated from the table that the conditions are made from. */
import { REASONS, type Reason, type ReasonMeaning } from "./reasons.ts";

/** The page by its path from the repository's root. */
export function generateReasonsReference(): Map<string, string> {
  const rows = Object.entries(REASONS as Record<Reason, ReasonMeaning>).map(([reason, meaning]) =>
    row(reason, meaning),
  );
  const page = [
    "# Reasons of the Installation's conditions",
    "",
    "<!-- Generated from reconcilers/installation/reasons.ts by `npm run generate`. -->",
    "",
    "`Ready` is always there; `Stalled` or `Reconciling` stands beside it while its reason holds. `kubectl wait",
    "--for=condition=Ready ipaminst/default` and every tool that follows kstatus read them right. An event is recorded",
    "when the reason changes.",
    "",
    "| reason | Ready | beside it | event | looked at again | what to do |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
  ];
  return new Map([["docs/reference/reasons.md", page.join("\n")]]);
}

function row(reason: string, { ready, abnormal, event, retryMs, action }: ReasonMeaning): string {
  const again = retryMs === undefined ? "on the next change" : `every ${retryMs / 1000} s, and on the next change`;
  return `| ${reason} | ${ready} | ${abnormal ?? "–"} | ${event} | ${again} | ${action} |`;
}
