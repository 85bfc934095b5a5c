/** The reference page of reasons and events, generated from the tables that conditions and events are made from. */
import { type EventMeaning, OTHER_EVENTS } from "./other-events.ts";
import { REASONS, type Reason, type ReasonMeaning } from "./reasons.ts";

/** The page by its path from the repository's root. */
export function generateReasonsReference(): Map<string, string> {
  const page = [
    "# Reasons and events of the Installation",
    "",
    "<!-- Generated from reconcilers/installation by `npm run generate`. -->",
    "",
    "## Reasons of the conditions",
    "",
    "`Ready` is always present. `Stalled` or `Reconciling` is True as well where the second table says so. `kubectl wait",
    "--for=condition=Ready ipaminst/default` and tools that follow kstatus read them; Argo CD needs a",
    "[health script](../argo-cd.md). When the reason changes, the operator emits one event with the reason and the message.",
    "",
    "| reason | meaning | fix |",
    "|---|---|---|",
    ...reasons.map(([reason, { meaning, action }]) => `| ${reason} | ${meaning} | ${action} |`),
    "",
    "| reason | Ready | also True | event | retried |",
    "|---|---|---|---|---|",
    ...reasons.map(([reason, meaning]) => conditionRow(reason, meaning)),
    "",
    "## Other events",
    "",
    "| event | type | meaning | fix |",
    "|---|---|---|---|",
    ...Object.entries(OTHER_EVENTS).map(([reason, meaning]) => eventRow(reason, meaning)),
    "",
  ];
  return new Map([["docs/reference/reasons.md", page.join("\n")]]);
}

const reasons = Object.entries(REASONS as Record<Reason, ReasonMeaning>);

function conditionRow(reason: string, { ready, abnormal, event, retryMs }: ReasonMeaning): string {
  const retried = retryMs === undefined ? "on the next change" : `every ${retryMs / 1000} s, and on the next change`;
  return `| ${reason} | ${ready} | ${abnormal ?? "–"} | ${event} | ${retried} |`;
}

const eventRow = (reason: string, { type, meaning, action }: EventMeaning) =>
  `| ${reason} | ${type} | ${meaning} | ${action} |`;
