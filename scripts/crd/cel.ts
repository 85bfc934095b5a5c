/** Pieces of CEL that the CRD rules and the admission policy share. */
import type { IpamField } from "../../src/api/installation.ts";
import type { ConfigRule } from "../../src/ipam/config-rules.ts";

/** A CEL string literal. */
export const celText = (text: string): string => JSON.stringify(text);

/**
 * A CEL expression that prints what the library says of a broken rule: its text, the values found, what to change.
 * @param printed the CEL expression of a field's value as text
 */
export function foundMessage({ text, fields, fix }: ConfigRule, printed: (field: IpamField) => string): string {
  const found = fields.flatMap((field, index) => [celText(`${index ? ", " : ""}${field}: `), printed(field)]);
  return [celText(`${text} (found `), ...found, celText(`; ${fix})`)].join(" + ").replaceAll('" + "', "");
}
