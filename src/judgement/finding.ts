/** What a judgement finds: a stable code, whose it is, why it is so, and what mends it. */
import type { Inventory } from "./inventory.ts";

/**
 * `critical`: traffic breaks or an address is given twice, now or at the next allocation. `warning`: addresses are lost,
 * or something will fail. `info`: untidy, and harmless.
 */
export const SEVERITIES = ["critical", "warning", "info"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface ObjectName {
  readonly kind: string;
  readonly name: string;
}

/** What a finding is about besides the object; it tells one finding of a code from another. */
export interface Evidence {
  readonly address?: string | undefined;
  readonly handle?: string | undefined;
  /** Number the address was allocated at. */
  readonly sequenceNumber?: bigint | undefined;
  readonly node?: string | undefined;
  /** Who uses the address without its being theirs: `Pod shop/web-0`. */
  readonly user?: string | undefined;
}

export interface Finding extends Evidence {
  readonly code: string;
  readonly severity: Severity;
  readonly object: ObjectName;
  /** A sentence: what is so, with the values found. */
  readonly message: string;
  /** What to run to mend it. */
  readonly command: string;
}

/** What is known of a code before anything is judged; `ipamctl explain` and the reference page are made from it. */
export interface CodeRow {
  readonly severity: Severity;
  readonly title: string;
  /** What it means, what comes of it, and how it came about. */
  readonly means: string;
  readonly mend: Mend;
  /**
   * It compares objects that are written one after the other: seen once, it may be a change under way. It is called a
   * problem when it is seen twice.
   */
  readonly moving?: true;
}

/** The command that mends a finding, and what it does, for the reference page. */
export interface Mend {
  readonly does: string;
  readonly command: (finding: Omit<Finding, "command">, inventory: Inventory) => string;
}

export type Report<C extends string> = (code: C, object: ObjectName, message: string, evidence?: Evidence) => void;

/** A group of codes that are looked for together. */
export interface Family<C extends string = string> {
  readonly title: string;
  readonly codes: Readonly<Record<C, CodeRow>>;
  readonly look: (inventory: Inventory, report: Report<C>, now: Date) => void;
}

/** Lets TypeScript see which codes a family's look may report. */
export function family<C extends string>(definition: Family<C>): Family<C> {
  return definition;
}

/** The same in two looks exactly where the two findings are of the same thing. */
export function keyOf({ code, object, address, handle, sequenceNumber, node }: Finding): string {
  return JSON.stringify([code, object.kind, object.name, address, handle, String(sequenceNumber), node]);
}

/** The object's kind and name. */
export function nameOf(object: { readonly kind: string; readonly metadata: { readonly name: string } }): ObjectName {
  return { kind: object.kind, name: object.metadata.name };
}
