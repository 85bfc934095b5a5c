/** The admission policy of crds/admission as a template: refusing, warning, or not there. */
import { parseAllDocuments } from "yaml";
import { PRODUCT } from "../../rbac/permissions.ts";
import { generatePolicies } from "../crd/policies.ts";
import { document, documents, metadata } from "./template.ts";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly validationActions?: readonly string[] };
}

const ACTION = "ADMISSION_POLICY";

/** templates/admissionpolicy.yaml */
export function policyTemplate(): string {
  const manifests = parseAllDocuments(generatePolicies().get("crds/admission/ipam-configuration-deny.yaml")!);
  const parts = manifests.map((manifest) => template(manifest.toJS() as Manifest));
  return documents('has .Values.admissionPolicy (list "Deny" "Warn")', parts);
}

function template({ apiVersion, kind, metadata: { name }, spec }: Manifest): string {
  const chosen = spec.validationActions === undefined ? spec : { ...spec, validationActions: [ACTION] };
  const text = document(apiVersion, kind, metadata(PRODUCT, name), { spec: chosen });
  return text.replace(ACTION, "{{ .Values.admissionPolicy }}");
}
