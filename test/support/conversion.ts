/** Objects and helpers that the tests of the conversion share. */
import { readFileSync } from "node:fs";
import { ConversionError } from "../../src/api/conversion.ts";

/** A file under test/. */
export const testFile = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
export const ANNOTATION = "projectcalico.org/metadata";

/** What a failing conversion says. */
export function refusal(convert: () => unknown): ConversionError {
  try {
    convert();
  } catch (error) {
    if (error instanceof ConversionError) return error;
    throw error;
  }
  throw new Error("was converted");
}

export const v1Affinity = (spec: object, metadata: object = {}) => ({
  apiVersion: "crd.projectcalico.org/v1",
  kind: "BlockAffinity",
  metadata: { name: "node-a-10-0-0-0-30", ...metadata },
  spec: { state: "confirmed", node: "node-a", type: "host", cidr: "10.0.0.0/30", deleted: "false", ...spec },
});
export const v1Block = (spec: object, metadata: object = {}) => ({
  apiVersion: "crd.projectcalico.org/v1",
  kind: "IPAMBlock",
  metadata: { name: "10-0-0-0-30", ...metadata },
  spec: {
    cidr: "10.0.0.0/30",
    allocations: [null, null, null, null],
    unallocated: [0, 1, 2, 3],
    attributes: [],
    strictAffinity: false,
    ...spec,
  },
});
export const v3Config = <S extends object>(spec: S) => ({
  apiVersion: "projectcalico.org/v3" as const,
  kind: "IPAMConfiguration" as const,
  metadata: { name: "default" },
  spec,
});
