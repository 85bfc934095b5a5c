/** The admission policies of crds/admission as templates: refusing, warning, or not there. */
import { parseAllDocuments } from "yaml";
import { PRODUCT } from "../../rbac/permissions.ts";
import { generatePolicies, policyPath } from "../crd/policies.ts";
import { IS_NEWER, SINCE } from "./newer-rules.ts";
import { document, documents, metadata } from "./template.ts";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly validationActions?: readonly string[] };
}

const ACTION = "ADMISSION_POLICY";

/** templates/admissionpolicy.yaml */
export const policyTemplate = (): string => templateOf("ipam-configuration", "admissionPolicy");

/** templates/blocksizepolicy.yaml */
export const blockSizePolicyTemplate = (): string =>
  templateOf("ipam-block-size", "blockSizePolicy", `${needsNewer("blockSizePolicy")}\n`);

function templateOf(policy: Parameters<typeof policyPath>[0], value: string, before = ""): string {
  const manifests = parseAllDocuments(generatePolicies().get(policyPath(policy, "Deny"))!);
  const [first, ...others] = manifests.map((manifest) => template(manifest.toJS() as Manifest, value));
  return documents(`has .Values.${value} (list "Deny" "Warn")`, [before + first, ...others]);
}

function template({ apiVersion, kind, metadata: { name }, spec }: Manifest, value: string): string {
  const chosen = spec.validationActions === undefined ? spec : { ...spec, validationActions: [ACTION] };
  const text = document(apiVersion, kind, metadata(PRODUCT, name), { spec: chosen });
  return text.replace(ACTION, `{{ .Values.${value} }}`);
}

function needsNewer(value: string): string {
  const words = `${value} is %s and needs Kubernetes ${SINCE} or later, for CEL's cidr(); this is %s: set it to off`;
  const refuse = `fail (printf ${JSON.stringify(words)} .Values.${value} .Capabilities.KubeVersion.Version)`;
  return `{{- if not (${IS_NEWER}) }}\n{{- ${refuse} }}\n{{- end }}`;
}
