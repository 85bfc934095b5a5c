/**
 * What two specs of one object differ in. A range is the same however it is written, a list of ranges or uses is a set,
 * and an absent field has its default. Pure.
 */
import { DEFAULT_BLOCK_SIZE } from "../api/block-sizes.ts";
import { effectiveConfig } from "../api/config-rules.ts";
import type { IPAMConfiguration, IPPool, IPPoolSpec, IPReservation } from "../api/v3.ts";
import { canonicalCidr, parseCidr } from "../net/cidr.ts";
import { DEFAULT_USES } from "./pools.ts";
import { reservationText } from "./reserved.ts";

/** A field with its values in force, as text. */
export interface FieldChange {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

type Comparable = IPAMConfiguration | IPPool | IPReservation;
type Spec = Readonly<Record<string, unknown>>;

export function specChanges<T extends Comparable>(before: T, after: T): FieldChange[] {
  const [old, now] = [inForce(before), inForce(after)];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return fields.flatMap((field) => {
    const change = { field, before: text(old[field]), after: text(now[field]) };
    return change.before === change.after ? [] : [change];
  });
}

/** `vxlanMode Never becomes Always, natOutgoing true becomes false` */
export function changesText(changes: readonly FieldChange[]): string {
  return changes.map(({ field, before, after }) => `${field} ${before} becomes ${after}`).join(", ");
}

function inForce(object: Comparable): Spec {
  switch (object.kind) {
    case "IPPool":
      return poolInForce(object.spec);
    case "IPReservation":
      return { ...object.spec, reservedCIDRs: reservationText(object) };
    case "IPAMConfiguration":
      return { ...object.spec, ...effectiveConfig(object.spec) };
  }
}

function poolInForce(spec: IPPoolSpec): Spec {
  const version = parseCidr(spec.cidr)?.version ?? 4;
  const allowedUses = spec.allowedUses?.length ? spec.allowedUses : DEFAULT_USES;
  const known = {
    cidr: canonicalCidr(spec.cidr) ?? spec.cidr,
    vxlanMode: spec.vxlanMode || "Never",
    ipipMode: spec.ipipMode || "Never",
    natOutgoing: spec.natOutgoing ?? false,
    disabled: spec.disabled ?? false,
    disableBGPExport: spec.disableBGPExport ?? false,
    blockSize: spec.blockSize || DEFAULT_BLOCK_SIZE[version],
    nodeSelector: spec.nodeSelector || "all()",
    namespaceSelector: spec.namespaceSelector || undefined,
    allowedUses: [...new Set(allowedUses)].sort(byUse).join(", "),
    assignmentMode: spec.assignmentMode || "Automatic",
  };
  return { ...known, ...spec, ...known };
}

const USES: readonly string[] = [...DEFAULT_USES, "LoadBalancer"];
const byUse = (a: string, b: string) => USES.indexOf(a) - USES.indexOf(b);

function text(value: unknown): string {
  if (value === undefined || value === "") return "unset";
  return typeof value === "string" ? value : JSON.stringify(value);
}
