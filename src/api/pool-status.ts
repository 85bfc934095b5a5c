/** Reads the status of a pool. Others write it: what of it is malformed is passed over, so that it hides no pool. */
import { type Fields, isFields, mapFields, mapValues } from "./fields.ts";
import { poolCondition } from "./v3.ts";

/** The conditions that can be told, with the fields that can be read; undefined where the whole is no status. */
export function readPoolStatus(status: unknown): Fields | undefined {
  if (!isFields(status)) return undefined;
  const readList = (list: unknown) => (Array.isArray(list) ? list.flatMap(readCondition) : undefined);
  return mapFields(status, { conditions: readList });
}

function readCondition(value: unknown): Fields[] {
  if (!isFields(value)) return [];
  const fields: Readonly<Record<string, { safeParse(value: unknown): { success: boolean } }>> = poolCondition.shape;
  const isReadable = (field: unknown, name: string) =>
    !Object.hasOwn(fields, name) || fields[name]!.safeParse(field).success;
  const readable = mapValues(value, (field, name) => (isReadable(field, name) ? field : undefined));
  return poolCondition.safeParse(readable).success ? [readable] : [];
}
