/** Who else writes the configuration: read from `managedFields`, labels and annotations, never guessed. */
import type { IpamField } from "../../src/api/installation.ts";
import type { ManagedFieldsEntry } from "../../src/api/meta.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { manifestOf } from "../../src/operator/manifest-origin.ts";

/** Our name in `managedFields`. */
export const FIELD_MANAGER = "ipam-operator";

/** Who last wrote `field`, other than this operator: a manager's name, or in words what is known without one. */
export function writerOf(object: IPAMConfiguration | undefined, field: IpamField): string {
  if (object === undefined) return "its deletion";
  const entries = entriesOf(object, field).sort((a, b) => (b.time ?? "").localeCompare(a.time ?? ""));
  return entries[0]?.manager ?? withoutTrace(object);
}

/** The embedded store keeps no managers; there an object that comes from a manifest names it. */
function withoutTrace(object: IPAMConfiguration): string {
  const manifest = manifestOf(object);
  return manifest === undefined ? "an unknown writer" : `its manifest ${manifest} or another program`;
}

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
  const held = fields.flatMap((field) => entriesOf(object, field)).find(({ operation }) => operation === "Apply");
  return held && `${held.manager} (server-side apply)`;
}

function entriesOf(object: IPAMConfiguration | undefined, field: IpamField): ManagedFieldsEntry[] {
  return (object?.metadata.managedFields ?? []).filter(
    ({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && holds(fieldsV1, field),
  );
}

function holds(fieldsV1: ManagedFieldsEntry["fieldsV1"], field: IpamField): boolean {
  const spec = fieldsV1?.["f:spec"];
  return typeof spec === "object" && spec !== null && Object.hasOwn(spec, `f:${field}`);
}
