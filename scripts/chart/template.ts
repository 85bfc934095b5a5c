/** What the generated templates share. */
import { stringify } from "yaml";

export const GENERATED = "{{- /* Generated from scripts/chart by `npm run generate`. Do not edit. */ -}}\n";

/** Text that Helm prints as it is. */
export const escaped = (text: string): string => text.replaceAll("{{", '{{ "{{" }}');

/** `metadata` with the labels of every object of a chart; `more` are lines of its own, indented by two. */
export function metadata(chart: string, name: string, ...more: readonly string[]): string {
  const labels = ["  labels:", `    {{- include "${chart}.labels" . | nindent 4 }}`];
  return ["metadata:", `  name: ${name}`, ...more, ...labels].join("\n");
}

/** One YAML document: what it is, its metadata as template lines, and the rest of the object. */
export function document(apiVersion: string, kind: string, metadataLines: string, rest: object): string {
  const body = escaped(stringify(rest, { lineWidth: 0, aliasDuplicateObjects: false }));
  return `apiVersion: ${apiVersion}\nkind: ${kind}\n${metadataLines}\n${body}`;
}

/** Documents that are only there when `condition`, a template expression, holds. */
export function documents(condition: string | undefined, parts: readonly string[]): string {
  const body = parts.join("---\n");
  return GENERATED + (condition === undefined ? body : `{{- if ${condition} }}\n${body}{{- end }}\n`);
}
