/** The one source of each: what is generated agrees with the code that it speaks of. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { z } from "zod";
import { METRICS } from "../../src/operator/metrics.ts";
import { FLAGS } from "../../src/operator/options.ts";
import { ALERTS } from "./alerts.ts";
import { generateCharts } from "./charts.ts";
import { ROWS } from "./dashboard.ts";
import { FLAG_VALUES } from "./flags.ts";
import { jsonSchema, membersOf, type ValueSchema } from "./schema.ts";
import { crdsValues, operatorValues } from "./values.ts";

const files = generateCharts();
const CHARTS: [string, z.ZodType][] = [
  ["ipam-operator", operatorValues],
  ["ipam-operator-crds", crdsValues],
];

/** Every single value below a group, by its path. */
function leaves([name, value]: [string, ValueSchema]): string[] {
  return membersOf(value)?.flatMap(([inner, member]) => leaves([`${name}.${inner}`, member])) ?? [name];
}
const pathsOf = (values: z.ZodType) => membersOf(jsonSchema(values))!.flatMap(leaves);

test.each(CHARTS)("%s: values.yaml holds the defaults, and the schema takes them", (chart, values) => {
  const defaults = parse(files.get(`helm/${chart}/values.yaml`)!);
  expect(defaults).toEqual(values.parse({}));
  expect(values.parse(defaults)).toEqual(defaults);
});

test.each(CHARTS)("%s: every value is described, and stands in the README", (chart, values) => {
  const readme = files.get(`helm/${chart}/README.md`)!;
  for (const path of pathsOf(values))
    expect(readme).toMatch(new RegExp(`^\\| \`${path}\` \\| .* \\| .*\\w.* \\|$`, "m"));
  const comments = files.get(`helm/${chart}/values.yaml`)!.match(/^ *# ./gm);
  expect(comments!.length).toBeGreaterThan(pathsOf(values).length);
});

test("every flag has a value of the chart, or one of the reasons why not", () => {
  const paths = pathsOf(operatorValues);
  const without = FLAGS.filter(({ name }) => !paths.includes(FLAG_VALUES[name] ?? "")).map(({ name }) => name);
  // Of no use in a pod: the cluster is its own, the data is not embedded, and nobody can reach an inspector.
  const noUse = ["kubeconfig", "context", "namespace", "manifests", "inspectBindAddress"];
  // Made by the chart from other values.
  const made = ["rbacSubjects", "metricsBindAddress", "metricsCertDir", "healthProbeBindAddress"];
  expect(without.sort()).toEqual([...noUse, ...made].sort());
});

/** Names of metrics in PromQL: words that no parenthesis follows, beside labels and keywords. */
function metricsIn(promql: string): string[] {
  const bare = promql.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|"[^"]*"/g, "");
  return [...bare.matchAll(/\b[a-z_]+\b(?! *\()/g)].map(([name]) => name);
}

test("alerts and dashboard look only at metrics that the operator has, or that Prometheus makes", () => {
  const known = METRICS.flatMap(({ name, type }) => (type === "histogram" ? [name, `${name}_bucket`] : [name]));
  const queries = [
    ...ALERTS.map(({ expr }) => expr),
    ...Object.values(ROWS).flatMap((panels) => panels.flatMap(([, , byLegend]) => Object.values(byLegend))),
  ];
  const used = new Set(queries.flatMap(metricsIn));
  expect(used.size).toBeGreaterThan(10);
  expect([...used].filter((name) => ![...known, "up"].includes(name))).toEqual([]);
});

test("dashboard: each panel has a place of its own, and a legend by labels that its query keeps", () => {
  const { panels } = JSON.parse(files.get("helm/ipam-operator/files/dashboard.json")!);
  const places = panels.map(({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x} ${y}`);
  expect(new Set(places).size).toBe(places.length);
  for (const { targets = [] } of panels) {
    for (const { expr, legendFormat } of targets) {
      const [, kept] = /\bby \((?:le, )?([^)]*)\)/.exec(expr) ?? [];
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      expect(named.length).toBeGreaterThan(0);
      if (kept !== undefined) expect(named.sort()).toEqual(kept.split(", ").sort());
    }
  }
});

test("an alert says what it is and what to do, in sentences", () => {
  for (const { summary, action } of ALERTS) {
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(action).toMatch(/^[A-Z].*\.$/);
  }
  expect(new Set(ALERTS.map(({ name }) => name)).size).toBe(ALERTS.length);
});
