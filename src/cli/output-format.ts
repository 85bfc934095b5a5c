/** What `-o` takes; for the template formats of kubectl it names the jq command that does the same. Pure. */

export const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
export type Format = (typeof FORMATS)[number];

/** Undefined for a format of this program; else what is wrong, and what to do. */
export function formatProblem(text: string): string | undefined {
  if ((FORMATS as readonly string[]).includes(text)) return undefined;
  const [kind = "", template = ""] = text.split(/=(.*)/s);
  if (kind.startsWith("jsonpath") || kind.startsWith("go-template") || kind.startsWith("custom-columns"))
    return `-o ${kind} is not supported: use -o json and jq, such as: ${jqCommand(kind, template)}`;
  return `-o '${text}' is not a format: use one of ${FORMATS.join(", ")}`;
}

function jqCommand(kind: string, template: string): string {
  const filter =
    kind === "jsonpath" ? ofJsonPath(template) : kind === "custom-columns" ? ofColumns(template) : undefined;
  return `-o json | jq -r '${filter ?? ".items[]"}'`;
}

/** `{.items[*].address}` as `.items[].address`; undefined for a template that jq has no direct counterpart of. */
function ofJsonPath(template: string): string | undefined {
  const path = /^\{?(\.[\w.[\]*]*)\}?$/.exec(template)?.[1];
  return path?.replaceAll("[*]", "[]");
}

/** `NAME:.name,FREE:.free` as `.items[] | [.name, .free] | @tsv`. */
function ofColumns(template: string): string | undefined {
  const paths = template.split(",").map((column) => /^[^:]*:(\.[\w.[\]]+)$/.exec(column)?.[1]);
  return paths.every((path) => path !== undefined) ? `.items[] | [${paths.join(", ")}] | @tsv` : undefined;
}
