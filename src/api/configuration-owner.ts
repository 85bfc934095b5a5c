/** Who keeps the configuration besides us: read from `managedFields`, labels and annotations, never guessed. */
import type { IpamField } from "./installation.ts";
import type { ManagedFieldsEntry } from "./meta.ts";
import type { IPAMConfiguration } from "./v3.ts";

/** The operator's name in `managedFields`. */
export const FIELD_MANAGER = "ipam-operator";

/**
 * Who owns the object, or one of `fields`, so that writing would start a fight; undefined when nobody does.
 * Marks: Helm's managed-by label, Argo CD's tracking annotation, Flux's Kustomization label, a server-side apply of the field.
 */
export function ownerOf(object: IPAMConfiguration | undefined, fields: readonly IpamField[]): string | undefined {
  if (!object) return undefined;
  const { labels = {}, annotations = {} } = object.metadata;
  if (labels["app.kubernetes.io/managed-by"] === "Helm") {
    return `Helm (release ${annotations["meta.helm.sh/release-name"] ?? "unknown"})`;
  }
  const argo = annotations["argocd.argoproj.io/tracking-id"];
  if (argo) return `Argo CD (${argo})`;
  const flux = labels["kustomize.toolkit.fluxcd.io/name"];
  if (flux) return `Flux (Kustomization ${flux})`;
  return applierOf(object, fields);
}

function applierOf(object: IPAMConfiguration, fields: readonly IpamField[]): string | undefined {
  const held = fields.flatMap((field) => managersOf(object, field)).find(({ operation }) => operation === "Apply");
  return held && `${held.manager} (server-side apply)`;
}

/** Whoever else has written the field. */
export function managersOf(object: IPAMConfiguration, field: IpamField): ManagedFieldsEntry[] {
  return (object.metadata.managedFields ?? []).filter(
    ({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && holds(fieldsV1, field),
  );
}

function holds(fieldsV1: ManagedFieldsEntry["fieldsV1"], field: IpamField): boolean {
  const spec = fieldsV1?.["f:spec"];
  return typeof spec === "object" && spec !== null && Object.hasOwn(spec, `f:${field}`);
}
