/** What manifests would change, on a snapshot: the objects as they would be then, and a line for each change. Pure. */
import { type Installation, IPAM_FIELDS, SINGLETON_NAME } from "../../api/installation.ts";
import type { IPAMConfiguration, IPPool, IPReservation } from "../../api/v3.ts";
import { effectiveConfig } from "../../ipam/config-rules.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Manifest } from "../../operator/manifests.ts";
import { withSettings } from "./scenario.ts";

export interface Proposal {
  readonly snapshot: Snapshot;
  /** `IPPool "p5" is new`, a line each. */
  readonly changes: readonly string[];
}

export function proposed(snapshot: Snapshot, manifests: readonly Manifest[]): Proposal {
  return manifests.reduce<Proposal>(
    (before, { object }) => {
      const { snapshot: after, changes } = apply(before.snapshot, object);
      return { snapshot: after, changes: [...before.changes, ...changes] };
    },
    { snapshot, changes: [] },
  );
}

function apply(snapshot: Snapshot, object: Manifest["object"]): Proposal {
  switch (object.kind) {
    case "Installation":
      return installed(snapshot, object);
    case "IPAMConfiguration":
      return object.metadata.name === SINGLETON_NAME
        ? configured(snapshot, object)
        : { snapshot, changes: [`IPAMConfiguration "${object.metadata.name}" is read by nobody`] };
    case "IPPool":
      return pooled(snapshot, object);
    case "IPReservation":
      return {
        snapshot: { ...snapshot, ...replaced("reservations", snapshot, object) },
        changes: [told(snapshot.reservations, object)],
      };
  }
}

/** Fields that the Installation does not name keep their value; only with Enforce is anything written. */
function installed(snapshot: Snapshot, { spec }: Installation): Proposal {
  if (spec.managementPolicy !== "Enforce") {
    return { snapshot, changes: [`managementPolicy is ${spec.managementPolicy}: the Installation changes nothing`] };
  }
  return settled(snapshot, withSettings(snapshot, spec.ipam ?? {}));
}

function configured(snapshot: Snapshot, object: IPAMConfiguration): Proposal {
  const others = snapshot.configurations.filter(({ metadata }) => metadata.name !== SINGLETON_NAME);
  return settled(snapshot, { ...snapshot, configurations: [object, ...others] });
}

function settled(before: Snapshot, after: Snapshot): Proposal {
  const [old, now] = [before, after].map(({ configurations }) =>
    effectiveConfig(configurations.find(({ metadata }) => metadata.name === SINGLETON_NAME)?.spec),
  ) as [ReturnType<typeof effectiveConfig>, ReturnType<typeof effectiveConfig>];
  const changed = IPAM_FIELDS.filter((field) => old[field] !== now[field]);
  return { snapshot: after, changes: changed.map((field) => `${field}: ${old[field]} becomes ${now[field]}`) };
}

/** A pool's range and block size cannot be changed: the API server refuses, and so the plan says. */
function pooled(snapshot: Snapshot, object: IPPool): Proposal {
  const stored = snapshot.pools.find(({ metadata }) => metadata.name === object.metadata.name);
  const fixed = stored && (["cidr", "blockSize"] as const).filter((field) => isOther(field, stored, object));
  if (stored && fixed && fixed.length > 0) {
    const what = fixed.map((field) => `${field} ${stored.spec[field]} to ${object.spec[field]}`).join(", ");
    throw new Error(`IPPool "${object.metadata.name}": ${what} cannot be changed: make another pool, and move to it`);
  }
  return { snapshot: { ...snapshot, ...replaced("pools", snapshot, object) }, changes: [told(snapshot.pools, object)] };
}

const isOther = (field: "cidr" | "blockSize", stored: IPPool, object: IPPool) =>
  object.spec[field] !== undefined && stored.spec[field] !== undefined && stored.spec[field] !== object.spec[field];

function replaced<K extends "pools" | "reservations">(part: K, snapshot: Snapshot, object: IPPool | IPReservation) {
  const list: readonly (IPPool | IPReservation)[] = snapshot[part];
  const others = list.filter(({ metadata }) => metadata.name !== object.metadata.name);
  const stored = list.find(({ metadata }) => metadata.name === object.metadata.name);
  const metadata = { ...stored?.metadata, ...object.metadata };
  const sorted = [...others, { ...object, metadata }].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return { [part]: sorted } as unknown as Pick<Snapshot, K>;
}

function told(list: readonly (IPPool | IPReservation)[], { kind, metadata }: IPPool | IPReservation): string {
  const isThere = list.some((other) => other.metadata.name === metadata.name);
  return `${kind} "${metadata.name}" is ${isThere ? "changed" : "new"}`;
}
