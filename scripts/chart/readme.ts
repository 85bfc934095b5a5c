/** The READMEs of the charts: a few words, and the table of values. */
import type { z } from "zod";
import { ALERTS } from "./alerts.ts";
import { jsonSchema, membersOf, type ValueSchema } from "./schema.ts";
import { crdsValues, operatorValues } from "./values.ts";

const HEAD = "<!-- Generated from scripts/chart by `npm run generate`. Do not edit. -->";

export function operatorReadme(): string {
  return page([
    HEAD,
    "# ipam-operator",
    "Keeps a cluster's IP address management as one `Installation` says, on Calico's data. How to install, upgrade and " +
      "uninstall it: `docs/install.md` of the project. One release per cluster: its objects have fixed names.",
    "## Values",
    table(operatorValues),
    "## Alerts",
    "With `metrics.prometheusRule.enabled`:",
    ["| alert | severity | what it says | what to do |", "|---|---|---|---|", ...ALERTS.map(alertRow)].join("\n"),
  ]);
}

export function crdsReadme(): string {
  return page([
    HEAD,
    "# ipam-operator-crds",
    "The CustomResourceDefinitions of ipam-operator: always `Installation`, and Calico's IPAM kinds on request. They are " +
      "a chart of their own because Helm does not upgrade what stands in a chart's `crds/`. Uninstalling it leaves them, " +
      "and all objects of their kinds, in place.",
    "## Values",
    table(crdsValues),
    "## When Calico's IPAM CRDs are refused",
    "`ipamCRDs: v1` or `v3` is refused where the cluster has one of these CRDs that this chart did not make, has them in " +
      "the other form, or serves their API group by an aggregated API server (Calico's own). Helm can look only with a " +
      "cluster at hand: `helm template`, and whatever renders charts without one, such as Argo CD, cannot refuse.",
  ]);
}

const page = (sections: readonly string[]) => `${sections.join("\n\n")}\n`;

function table(values: z.ZodType): string {
  const rows = (membersOf(jsonSchema(values)) ?? []).flatMap(([name, value]) => rowsOf(name, value));
  return ["| value | default | meaning |", "|---|---|---|", ...rows].join("\n");
}

function rowsOf(path: string, value: ValueSchema): string[] {
  const members = membersOf(value);
  if (members !== undefined) return members.flatMap(([name, member]) => rowsOf(`${path}.${name}`, member));
  const standard = JSON.stringify(value.default).replaceAll("|", "\\|");
  const choices = value.enum === undefined ? "" : ` One of ${value.enum.join(", ")}.`;
  return [`| \`${path}\` | \`${standard}\` | ${(value.description ?? "").replaceAll("|", "\\|")}${choices} |`];
}

const alertRow = ({ name, severity, summary, action }: (typeof ALERTS)[number]) =>
  `| \`${name}\` | ${severity} | ${summary} | ${action} |`;
