import { afterEach, describe, expect, it } from "vitest";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { block, handle } from "../support/ipam-data.ts";
import { Recorder } from "./recorder.ts";

const NOW = new Date("2026-01-02T03:04:05Z");
const store = openEmbedded(":memory:");
afterEach(() => store.close());
const FIRST = 1_767_323_045_678_900_000n;
const nothing = () => ({});

describe("Recorder", () => {
  it("records each write under the call that made it, calls side by side too, and refused writes not at all", async () => {
    const recorder = new Recorder(() => NOW);
    const datastore = recorder.datastore(store);
    const made = await datastore.create(block("10.0.0.0/30", { sequenceNumber: FIRST }));
    const assign = async () => {
      await datastore.create(handle("h1", { "10.0.0.0/30": 1 }));
      await datastore.update({ ...made, spec: { ...made.spec, sequenceNumber: FIRST + 1n } });
      return "10.0.0.1/30";
    };
    const release = () => datastore.delete(made);
    const told = (ip: string) => ({ ips: [ip] });
    const calls = [
      recorder.call({ method: "autoAssign", handleID: "h1" }, assign, told, nothing),
      recorder.call({ method: "releaseAffinity" }, release, nothing, () => ({ unallocated: [] })),
    ];
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);

    const writes = recorder.log.flatMap((entry) => (entry.type === "version" ? [entry] : []));
    expect(writes.map(({ kind, name, operation, object }) => [kind, name, operation, object !== undefined])).toEqual([
      ["IPAMBlock", "10-0-0-0-30", undefined, true],
      ["IPAMHandle", "h1", 0, true],
      ["IPAMBlock", "10-0-0-0-30", 1, false],
    ]);
    expect(writes[0]).toMatchObject({ at: NOW, object: { spec: { sequenceNumber: FIRST } } });
    expect(recorder.log.filter(({ type }) => type !== "version")).toEqual([
      { type: "begin", operation: 0, call: { method: "autoAssign", handleID: "h1" } },
      { type: "begin", operation: 1, call: { method: "releaseAffinity" } },
      { type: "end", operation: 1, outcome: { ok: true } },
      { type: "end", operation: 0, outcome: { ok: false } },
    ]);
  });
});
