/** Types and text formats as an API server knows them. */
import { isLooseCidr } from "../../net/cidr.ts";
import type { CrdSchema } from "../crd-schema.ts";

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d{2}:\d{2})$/;

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  cidr: isLooseCidr,
  "date-time": isDateTime,
};

/** Whether a text is of a format; one that an API server does not check lets every text pass. */
export function isFormat(format: string, text: string): boolean {
  return FORMATS[format]?.(text) ?? true;
}

/** The type of a value, by its JSON. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value;
}

/** What a problem calls the wanted and the found type. Where a text has a format, Go names the format, and its own type. */
export function typeNames({ type = "", format }: CrdSchema, value: unknown): { wanted: string; found: string } {
  const found = typeOf(value);
  if (type !== "string" || format === undefined || value === null) return { wanted: type, found };
  if (found === "string") return { wanted: format, found: value as string };
  return { wanted: format, found: { integer: "int64", number: "double" }[found] ?? "" };
}

function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const [, year, month, day] = DATE.exec(date) ?? [];
  const read = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return read.getUTCMonth() === Number(month) - 1 && read.getUTCDate() === Number(day) && TIME.test(time);
}
