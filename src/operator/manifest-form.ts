/** The object that a manifest makes of the stored one. Pure. */
import type { IPAMConfiguration, IPPool, IPReservation } from "../api/v3.ts";
import type { Stored } from "../datastore/datastore.ts";
import { specChanges } from "../ipam/spec-changes.ts";
import type { ManifestKind } from "./manifest-kinds.ts";

/** With the labels, annotations and spec of the manifest, and all else as it is stored. */
export function toStore(stored: Stored<ManifestKind>, wanted: Stored<ManifestKind>): Stored<ManifestKind> {
  const { labels, annotations } = wanted.metadata;
  const { labels: _, annotations: __, ...metadata } = stored.metadata;
  return {
    ...stored,
    metadata: { ...metadata, ...(labels && { labels }), annotations },
    spec: specToStore(stored, wanted),
  } as Stored<ManifestKind>;
}

/** What only spells the stored spec otherwise, or spells its defaults out, stays as it is stored. */
function specToStore(stored: Stored<ManifestKind>, wanted: Stored<ManifestKind>): Stored<ManifestKind>["spec"] {
  if (stored.kind === "Installation" || wanted.kind === "Installation") return wanted.spec;
  const changes = specChanges<IPAMConfiguration | IPPool | IPReservation>(stored, wanted);
  if (changes.length === 0) return stored.spec;
  if (stored.kind !== "IPPool" || changes.some(({ field }) => field === "cidr")) return wanted.spec;
  return { ...wanted.spec, cidr: stored.spec.cidr };
}
