/** The contract of deletion in two steps: wherever it stops, readers see nothing, and the next one finishes it. */
import { describe, expect, test } from "vitest";
import { marked } from "../rows.ts";
import { samples } from "./objects.ts";
import { type Current, code, createSample, markable } from "./store.ts";

export function describeDeletion(at: Current): void {
  describe.each(markable)("deletion of %s", (kind) => {
    const { name } = samples[kind].object.metadata;
    const markedIn = async () => {
      const created = await createSample(at, kind);
      return at.datastore.update(marked(created));
    };

    test("stopped after the mark: lists leave the row out, get finishes the deletion", async () => {
      await markedIn();
      expect((await at.datastore.list(kind)).items).toEqual([]);
      await expect(at.datastore.get(kind, name)).rejects.toEqual(code("NotFound"));
      await createSample(at, kind); // only possible when the row is really gone
    });

    test("stopped after the mark: delete with the marked row finishes it", async () => {
      const gone = await markedIn();
      await at.datastore.delete(gone);
      await createSample(at, kind);
    });

    test("stopped after the mark: whoever read before it loses", async () => {
      const created = await createSample(at, kind);
      const gone = await at.datastore.update(marked(created));
      await expect(at.datastore.update(created)).rejects.toEqual(code("Conflict"));
      await expect(at.datastore.delete(created)).rejects.toEqual(code("Conflict"));
      await at.datastore.delete(gone);
    });

    test("ended between another's read and delete: not found", async () => {
      const created = await createSample(at, kind);
      await at.datastore.delete(created);
      await expect(at.datastore.delete(created)).rejects.toEqual(code("NotFound"));
    });

    test("begun by several at once: one deletes, the others see that it is gone or changed", async () => {
      const created = await createSample(at, kind);
      const results = await Promise.allSettled([1, 2, 3].map(() => at.datastore.delete(created)));
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      await expect(at.datastore.get(kind, name)).rejects.toEqual(code("NotFound"));
    });
  });
}
