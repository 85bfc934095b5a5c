/** An ordinary lost race, and what somebody else has deleted already, is no warning: whichever write loses, once. */
import { expect, test } from "vitest";
import type { IpamKind } from "../../src/api/v3.ts";
import type { DatastoreErrorCode } from "../../src/datastore/datastore.ts";
import { type Operation, storeError, world } from "../support/ipam.ts";
import { CASES } from "./race-cases.ts";

/** What a write can find that another was faster with. */
const LOST: Readonly<Partial<Record<Operation, readonly DatastoreErrorCode[]>>> = {
  create: ["AlreadyExists"],
  update: ["Conflict", "NotFound"],
  delete: ["Conflict", "NotFound"],
};
const KINDS: readonly IpamKind[] = ["IPAMBlock", "BlockAffinity", "IPAMHandle"];

const losses = Object.entries(LOST).flatMap(([operation, codes]) =>
  codes.flatMap((code) => KINDS.map((kind) => ({ operation: operation as Operation, kind, code }))),
);

test.concurrent.each(Object.entries(CASES))("%s", { timeout: 120_000 }, async (_, { before: prepare, call }) => {
  for (const { operation, kind, code } of losses) {
    for (let index = 0, isMade = true; isMade; index++) {
      await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
      await prepare?.(w);
      let seen = 0;
      w.meddler = async (made, store) => {
        if (made.operation !== operation || made.kind !== kind || seen++ !== index) return;
        if (code === "NotFound") await store.delete(made.object as never).catch(() => {});
        throw storeError(code, made);
      };
      await call(w).catch(() => {});
      isMade = seen > index;
      expect(w.warnings, `${operation} ${kind} ${index}: ${code}`).toEqual([]);
    }
  }
});
