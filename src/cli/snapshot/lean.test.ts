/** What of an object leaves the cluster in a bundle. */
import { expect, test } from "vitest";
import { handle } from "../../../test/support/ipam-data.ts";
import { lean } from "./lean.ts";

test("no annotation and no field manager is kept, and what is read of the rest is", () => {
  const object = handle("h", { "10.0.0.0/30": 1 });
  const kept = { name: "h", uid: "u", resourceVersion: "7", labels: { a: "b" } };
  const more = { annotations: { secret: "token" }, managedFields: [{ manager: "kubectl" }] };
  const stored = { ...object, metadata: { ...kept, ...more } };
  expect(lean<"IPAMHandle">(stored)).toEqual({ ...object, metadata: kept });
  expect(stored.metadata).toEqual({ ...kept, ...more });
});
