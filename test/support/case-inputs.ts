/** The inputs that cases share, as the model has them: what a cluster of either generation would give the library. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { fromV1, fromV3 } from "../../src/api/conversion.ts";
import type { IpamKind, V3 } from "../../src/api/v3.ts";
import { parseJson } from "../../src/kube/json.ts";

const file = (name: string) => readFileSync(join(import.meta.dirname, "../cases/inputs", name), "utf8");

/** The documents of a YAML input, as they are written there. */
export function documents(name: string): object[] {
  return parseAllDocuments(file(name)).map((document) => document.toJS() as object);
}

/** Blocks a to f of input 08: old, damaged and new ones. */
export function legacyBlock(letter: "a" | "b" | "c" | "d" | "e" | "f"): V3<"IPAMBlock"> {
  return fromV1("IPAMBlock", documents("08-ipamblocks-legacy-and-damaged.yaml")["abcdef".indexOf(letter)]!);
}

/** The pools of input 07, by name. */
export function oddPool(name: string): V3<"IPPool"> {
  const found = documents("07-ippools-odd-block-sizes.yaml").map((document) => fromV3("IPPool", document));
  return found.find(({ metadata }) => metadata.name === name)!;
}

const listed = parseJson(file("10-handles-and-reservations.json")) as Record<"handles" | "reservations", object[]>;

function object<K extends IpamKind>(kind: K, found: object): V3<K> {
  const { note: _note, ...rest } = found as { note?: string };
  return fromV3(kind, rest);
}

/** The reservations of input 10, by name. */
export function reservationOf(name: string): V3<"IPReservation"> {
  const all = listed.reservations.map((found) => object("IPReservation", found));
  return all.find(({ metadata }) => metadata.name === name)!;
}

/** The handles of input 10. */
export const strangeHandles = (): V3<"IPAMHandle">[] => listed.handles.map((found) => object("IPAMHandle", found));
