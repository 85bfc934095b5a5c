/** Where versions do not fit together: a Kubernetes that is too old, a kind whose schema drops what we write. Pure. */
import { resources } from "../../api/resources.ts";
import { type IpamKind, v3Schemas } from "../../api/v3.ts";
import type { Flavour } from "../../datastore/flavours.ts";

/** Oldest Kubernetes that is supported: 1.30. */
const OLDEST_MINOR = 30;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly kind?: string }[];
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** A sentence for each; `openApi` is the API group's OpenAPI v3 document, where it could be read. */
export function skewOf(kubernetes: string, flavour: Flavour, openApi: unknown): string[] {
  return [...tooOld(kubernetes), ...droppedFields(flavour, openApi)];
}

function tooOld(kubernetes: string): string[] {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(kubernetes) ?? [];
  if (major === undefined || Number(major) > 1 || Number(minor) >= OLDEST_MINOR) return [];
  return [`Kubernetes ${kubernetes} is older than 1.${OLDEST_MINOR}, the oldest that this program is made for`];
}

/** A field that the served schema lacks is dropped by the API server, without a word. */
function droppedFields(flavour: Flavour, openApi: unknown): string[] {
  const { components } = (openApi ?? {}) as { readonly components?: { readonly schemas?: Record<string, Schema> } };
  const schemas = Object.values(components?.schemas ?? {});
  return (Object.keys(v3Schemas) as IpamKind[]).flatMap((kind) => {
    const { kind: served, plural, group } = resources[kind][flavour];
    const schema = schemas.find((known) =>
      known["x-kubernetes-group-version-kind"]?.some(({ kind: k }) => k === served),
    );
    const spec = schema?.properties?.["spec"];
    if (spec?.properties === undefined || spec["x-kubernetes-preserve-unknown-fields"]) return [];
    const missing = Object.keys(v3Schemas[kind].shape.spec.shape).filter((field) => !(field in spec.properties!));
    if (missing.length === 0) return [];
    return [`the cluster's ${served} drops spec.${missing.join(", spec.")}: renew the CRD ${plural}.${group}`];
  });
}
