/**
 * Rules that an older Kubernetes does not take: CEL's `cidr()` and `isCIDR()` came with 1.30, and a new CRD may use an
 * expression one version after it came. The chart leaves them out there; the library looks at the same things itself.
 */
export const SINCE = "1.31";
/** Whether the cluster takes them, as a template expression. */
export const IS_NEWER = `semverCompare ">=${SINCE}.0-0" .Capabilities.KubeVersion.Version`;
const RULES = "x-kubernetes-validations";
const IF = "@if-newer";
const END = "@end-newer";
const isNewer = (rule: unknown): boolean => /\b(cidr|isCIDR)\(/.test((rule as { readonly rule: string }).rule);

/** A schema with marks around such rules, as keys or list items; `asConditions` turns their lines into template lines. */
export function markNewerRules(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(markNewerRules);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) =>
      key === RULES ? markedRules(value as readonly unknown[]) : [[key, markNewerRules(value)] as const],
    ),
  );
}

function markedRules(rules: readonly unknown[]): (readonly [string, unknown])[] {
  const [newer, others] = [rules.filter(isNewer), rules.filter((rule) => !isNewer(rule))];
  if (newer.length === 0) return [[RULES, others]];
  if (others.length > 0) return [[RULES, [...others, IF, ...newer, END]]];
  return [
    [IF, null],
    [RULES, newer],
    [END, null],
  ];
}

export function asConditions(yaml: string): string {
  return yaml.replaceAll(line(IF), `{{- if ${IS_NEWER} }}`).replaceAll(line(END), "{{- end }}");
}

const line = (mark: string) => new RegExp(`^ *(- )?"${mark}"(: null)?$`, "gm");
