import { expect, it } from "vitest";
import { z } from "zod";
import { crdSchema } from "./crd-schema.ts";

const schema = z.looseObject({
  count: z
    .int()
    .optional()
    .describe("How many.")
    .meta({ minimum: 0, v3: { maximum: 9 } }),
  free: z.int().nullable(),
  state: z.enum(["", "on"]),
  asked: z
    .boolean()
    .optional()
    .meta({ crdRequired: true, v3: { default: true } }),
  at: z.iso.datetime(),
  numbers: z.record(z.string(), z.bigint().meta({ type: "integer", format: "int64" })),
  inner: z.array(z.looseObject({ a: z.string() })),
});

it("drops what an API server refuses or misreads, and takes one generation's keywords", () => {
  const common = {
    state: { type: "string", enum: ["", "on"] },
    free: { type: "integer", nullable: true },
    at: { type: "string", format: "date-time" },
    numbers: { type: "object", additionalProperties: { type: "integer", format: "int64" } },
    inner: { type: "array", items: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
  };
  const required = ["free", "state", "at", "numbers", "inner", "asked"];
  expect(crdSchema(schema, "v3")).toEqual({
    type: "object",
    required,
    properties: {
      ...common,
      count: { type: "integer", description: "How many.", minimum: 0, maximum: 9 },
      asked: { type: "boolean", default: true },
    },
  });
  expect(crdSchema(schema, "v1")).toEqual({
    type: "object",
    required,
    properties: {
      ...common,
      count: { type: "integer", description: "How many.", minimum: 0 },
      asked: { type: "boolean" },
    },
  });
});
