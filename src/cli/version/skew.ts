/** Where versions do not fit together: a Kubernetes that is too old, a kind whose schema drops what we write. Pure. */
import { z } from "zod";
import { resources } from "../../api/resources.ts";
import { type IpamKind, v3Schemas } from "../../api/v3.ts";
import type { Flavour } from "../../datastore/flavours.ts";

/** Oldest Kubernetes that is supported: 1.30. */
const OLDEST_MINOR = 30;

/** What is read of a schema; a document that has something else there says nothing. */
const schema = z.object({
  properties: z.object({ spec: z.object({ properties: z.record(z.string(), z.unknown()) }).loose() }),
  "x-kubernetes-group-version-kind": z.array(z.object({ kind: z.string() })),
});
const document = z.object({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) });
const PRESERVES = "x-kubernetes-preserve-unknown-fields";

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
  const schemas = Object.values(document.safeParse(openApi).data?.components.schemas ?? {}).flatMap(
    (value) => schema.safeParse(value).data ?? [],
  );
  return (Object.keys(v3Schemas) as IpamKind[]).flatMap((kind) => {
    const { kind: served, plural, group } = resources[kind][flavour];
    const known = schemas.find((each) => each["x-kubernetes-group-version-kind"].some((type) => type.kind === served));
    if (known === undefined || known.properties.spec[PRESERVES]) return [];
    const { properties } = known.properties.spec;
    const missing = Object.keys(v3Schemas[kind].shape.spec.shape).filter((field) => !(field in properties));
    if (missing.length === 0) return [];
    return [`the cluster's ${served} drops spec.${missing.join(", spec.")}: renew the CRD ${plural}.${group}`];
  });
}
