/** The CRDs as templates: labelled, and kept when the chart is uninstalled. */
import { parse } from "yaml";
import { generateCrds } from "../crd/crds.ts";
import { asConditions, markNewerRules } from "./newer-rules.ts";
import { document, documents, GENERATED, metadata } from "./template.ts";

const CHART = "ipam-operator-crds";
const KEPT = ["  annotations:", "    helm.sh/resource-policy: keep"];

interface Crd {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly group: string };
}

/** templates/*.yaml by name. */
export function crdTemplates(): ReadonlyMap<string, string> {
  const all = [...generateCrds()];
  const inFolder = (folder: string) =>
    all.filter(([path]) => path.startsWith(folder)).map(([, text]) => parse(text) as Crd);
  const generations = { v1: inFolder("crds/v1/"), v3: inFolder("crds/v3/") };
  return new Map([
    ["installation.yaml", documents(undefined, inFolder("crds/ipam-operator.io_").map(template))],
    ...Object.entries(generations).map(
      ([name, crds]) => [`ipam-${name}.yaml`, documents(`eq .Values.ipamCRDs "${name}"`, crds.map(template))] as const,
    ),
    [
      "_ipam.tpl",
      GENERATED +
        Object.entries(generations)
          .map(([name, crds]) => facts(name, crds))
          .join(""),
    ],
  ]);
}

function template({ apiVersion, kind, metadata: { name }, spec }: Crd): string {
  return asConditions(document(apiVersion, kind, metadata(CHART, name, ...KEPT), { spec: markNewerRules(spec) }));
}

/** What the refusals look for: the names of a generation's CRDs. */
function facts(generation: string, crds: readonly Crd[]): string {
  const names = crds.map(({ metadata: { name } }) => name).join(" ");
  return `{{- define "${CHART}.${generation}" -}}\n${names}\n{{- end }}\n`;
}
