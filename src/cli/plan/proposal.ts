/** What manifests would change, on a snapshot: the objects as they would be then, and a line for each change. Pure. */

import { effectiveConfig } from "../../api/config-rules.ts";
import { type Installation, IPAM_FIELDS, SINGLETON_NAME } from "../../api/installation.ts";
import { kindIn } from "../../api/kind-names.ts";
import type { IPAMConfiguration, IPPool, IPReservation } from "../../api/v3.ts";
import { apiGroups } from "../../datastore/flavours.ts";
import { changesText, type FieldChange, specChanges } from "../../ipam/spec-changes.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { canonicalCidr } from "../../net/cidr.ts";
import { byNumbers } from "../../net/order.ts";
import type { Manifest } from "../../operator/manifests.ts";
import { withSettings } from "./scenario.ts";

export interface Proposal {
  readonly snapshot: Snapshot;
  /** `IPPool "p5" is new`, a line each. */
  readonly changes: readonly string[];
  /** What stands in the way of applying the manifests as they are written. */
  readonly notes: readonly string[];
}

export function proposed(snapshot: Snapshot, manifests: readonly Manifest[]): Proposal {
  return manifests.reduce<Proposal>(
    (before, { object }) => {
      const { snapshot: after, changes, notes } = apply(before.snapshot, object);
      return { snapshot: after, changes: [...before.changes, ...changes], notes: [...before.notes, ...notes] };
    },
    { snapshot, changes: [], notes: [] },
  );
}

function apply(snapshot: Snapshot, object: Manifest["object"]): Proposal {
  switch (object.kind) {
    case "Installation":
      return installed(snapshot, object);
    case "IPAMConfiguration":
      return object.metadata.name === SINGLETON_NAME
        ? configured(snapshot, object)
        : { snapshot, changes: [unreadText(snapshot, object)], notes: [] };
    case "IPPool":
      return pooled(snapshot, object);
    case "IPReservation": {
      const isStored = ({ metadata }: IPReservation) => metadata.name === object.metadata.name;
      return replacing("reservations", snapshot, snapshot.reservations.find(isStored), object);
    }
  }
}

/** Fields that the Installation does not name keep their value; only with Enforce is anything written. */
function installed(snapshot: Snapshot, { spec }: Installation): Proposal {
  if (spec.managementPolicy !== "Enforce") {
    const changes = [`managementPolicy is ${spec.managementPolicy}: the Installation changes nothing`];
    return { snapshot, changes, notes: [] };
  }
  return settled(snapshot, withSettings(snapshot, spec.ipam ?? {}));
}

const unreadText = ({ datastore }: Snapshot, { kind, metadata }: IPAMConfiguration) =>
  `${kindIn(datastore, kind)} "${metadata.name}" has no effect: only "${SINGLETON_NAME}" is read`;

function configured(snapshot: Snapshot, object: IPAMConfiguration): Proposal {
  const others = snapshot.configurations.filter(({ metadata }) => metadata.name !== SINGLETON_NAME);
  return settled(snapshot, { ...snapshot, configurations: [object, ...others] });
}

function settled(before: Snapshot, after: Snapshot): Proposal {
  const [old, now] = [before, after].map(({ configurations }) =>
    effectiveConfig(configurations.find(({ metadata }) => metadata.name === SINGLETON_NAME)?.spec),
  ) as [ReturnType<typeof effectiveConfig>, ReturnType<typeof effectiveConfig>];
  const changed = IPAM_FIELDS.filter((field) => old[field] !== now[field]);
  return {
    snapshot: after,
    changes: changed.map((field) => `${field}: ${old[field]} becomes ${now[field]}`),
    notes: [],
  };
}

function pooled(snapshot: Snapshot, object: IPPool): Proposal {
  const stored = snapshot.pools.find(({ metadata }) => metadata.name === object.metadata.name);
  if (stored === undefined) return replacing("pools", snapshot, undefined, object);
  const wanted = withFixed(stored, object);
  const { snapshot: after, changes } = replacing("pools", snapshot, stored, wanted);
  return { snapshot: after, changes, notes: spellingNotes(snapshot, stored, object) };
}

/** What a manifest leaves out of a pool stays; the range stays as it is written. */
function withFixed({ spec: stored }: IPPool, object: IPPool): IPPool {
  const { blockSize = stored.blockSize } = object.spec;
  const cidr = isSameText(object.spec.cidr, stored.cidr) ? stored.cidr : object.spec.cidr;
  return { ...object, spec: { ...object.spec, cidr, ...(blockSize !== undefined && { blockSize }) } };
}

const isSameText = (a: string, b: string) => a === b || (canonicalCidr(a) ?? a) === canonicalCidr(b);

/** A CRD compares texts. */
function spellingNotes({ datastore }: Snapshot, stored: IPPool, { metadata, spec }: IPPool): string[] {
  if (spec.cidr === stored.spec.cidr || datastore !== apiGroups.v3) return [];
  return [
    `IPPool "${metadata.name}": write its cidr as it is stored, ${stored.spec.cidr}: CRDs of ${apiGroups.v3} refuse ` +
      `another spelling (${spec.cidr})`,
  ];
}

/** Puts `object` in the place of `stored`, and names what that changes. */
function replacing<T extends IPPool | IPReservation>(
  part: "pools" | "reservations",
  snapshot: Snapshot,
  stored: T | undefined,
  object: T,
): Proposal {
  const { kind, metadata } = object;
  const others = (snapshot[part] as readonly T[]).filter((other) => other !== stored);
  const merged = { ...object, metadata: { ...stored?.metadata, ...metadata } };
  const sorted = [...others, merged].sort((a, b) => byNumbers(a.metadata.name, b.metadata.name));
  const after = { ...snapshot, [part]: sorted };
  if (stored === undefined) return { snapshot: after, changes: [`${kind} "${metadata.name}" is new`], notes: [] };
  const changes = [...metadataChanges(stored, object), ...specChanges<IPPool | IPReservation>(stored, object)];
  const lines = changes.length === 0 ? [] : [`${kind} "${metadata.name}": ${changesText(changes)}`];
  return { snapshot: after, changes: lines, notes: [] };
}

/** Labels and annotations that the manifest names; others stay. */
function metadataChanges(stored: IPPool | IPReservation, { metadata }: IPPool | IPReservation): FieldChange[] {
  return (["labels", "annotations"] as const).flatMap((map) =>
    Object.entries(metadata[map] ?? {})
      .map(([key, after]) => ({
        field: `metadata.${map}.${key}`,
        before: stored.metadata[map]?.[key] ?? "unset",
        after,
      }))
      .filter(({ before, after }) => before !== after),
  );
}
