/** The contract of lists and watches. */
import { describe, expect, test } from "vitest";
import { affinityLabels } from "../../api/names.ts";
import type { Malformed } from "../datastore.ts";
import { marked } from "../rows.ts";
import { collect } from "./collect.ts";
import { affinityOf, configurationOf, handleOf, poolOf } from "./objects.ts";
import { type Current, createSample, markable, names, withSpec } from "./store.ts";

export function describeReading(at: Current): void {
  describe("list", () => {
    test("is sorted by name and of one kind", async () => {
      const handles = ["b", "a-b", "a.b", "a", "10"];
      for (const id of handles) await at.datastore.create(handleOf(id));
      await at.datastore.create(configurationOf());
      expect(names((await at.datastore.list("IPAMHandle")).items)).toEqual(["10", "a", "a-b", "a.b", "b"]);
    });

    test("by labels gives those that have all of them", async () => {
      const all = [affinityOf("node-a", "10.0.0.0/30"), affinityOf("node-a", "fd00::/122")];
      const other = affinityOf("node-b", "10.0.0.4/30");
      for (const affinity of [...all, other]) await at.datastore.create(affinity);
      const { "projectcalico.org/ip-version": _version, ...labels } = affinityLabels(all[0]!.spec);
      expect(names((await at.datastore.list("BlockAffinity", { labels })).items)).toEqual(names(all));
      const one = await at.datastore.list("BlockAffinity", { labels: affinityLabels(other.spec) });
      expect(names(one.items)).toEqual(names([other]));
    });
  });

  describe("watch", () => {
    test("begins with what is there, then shows each change in order", async () => {
      const created = await at.datastore.create(poolOf("pool-a", "10.0.0.0/16"));
      const watch = collect(at.datastore, "IPPool");
      await watch.until(1);
      const updated = await at.datastore.update(withSpec(created, { disabled: true }));
      await at.datastore.create(poolOf("pool-b", "10.1.0.0/16"));
      await at.datastore.delete(updated);
      expect(await watch.until(4)).toEqual(["Added pool-a", "Modified pool-a", "Added pool-b", "Deleted pool-a"]);
      expect(watch.events[1]!.object).toEqual(updated);
      await watch.stop();
    });

    test("goes on from a list without repeating it", async () => {
      const created = await at.datastore.create(poolOf("pool-a", "10.0.0.0/16"));
      const { revision } = await at.datastore.list("IPPool");
      const updated = await at.datastore.update(withSpec(created, { disabled: true }));
      const watch = collect(at.datastore, "IPPool", { revision });
      await watch.until(1);
      await at.datastore.delete(updated);
      expect(await watch.until(2)).toEqual(["Modified pool-a", "Deleted pool-a"]);
      await watch.stop();
    });

    test.each(markable)("shows the mark on a %s as its deletion, and its removal no more", async (kind) => {
      const created = await createSample(at, kind);
      const watch = collect(at.datastore, kind);
      await watch.until(1);
      await at.datastore.delete(await at.datastore.update(marked(created)));
      await createSample(at, kind);
      const { name } = created.metadata;
      expect(await watch.until(3)).toEqual([`Added ${name}`, `Deleted ${name}`, `Added ${name}`]);
      await watch.stop();
    });

    test("does not show a row that was marked before it began", async () => {
      const gone = await at.datastore.update(marked(await at.datastore.create(handleOf("a"))));
      const watch = collect(at.datastore, "IPAMHandle");
      await at.datastore.delete(gone);
      await at.datastore.create(handleOf("b"));
      expect(await watch.until(1)).toEqual(["Added b"]);
      await watch.stop();
    });

    test("passes over a malformed object and tells of it, whether it was there before or comes", async () => {
      const told: string[] = [];
      const onMalformed = ({ kind, name }: Malformed) => told.push(`${kind} ${name}`);
      await at.putMalformed("before");
      const watch = collect(at.datastore, "IPAMHandle", { onMalformed });
      await at.datastore.create(handleOf("first"));
      expect(await watch.until(1)).toEqual(["Added first"]);
      await at.putMalformed("later");
      await at.datastore.create(handleOf("second"));
      expect(await watch.until(2)).toEqual(["Added first", "Added second"]);
      expect(told).toEqual(["IPAMHandle before", "IPAMHandle later"]);
      await watch.stop();
    });

    test("ends when its signal aborts, also before it began", async () => {
      const watch = collect(at.datastore, "IPPool");
      await watch.stop();
      const never = at.datastore.watch("IPPool", { signal: AbortSignal.abort() });
      for await (const event of never) expect.unreachable(`an event came: ${event.type}`);
    });
  });

  test("calls whose signal has aborted reject with its reason and write nothing", async () => {
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    await expect(at.datastore.create(handleOf("a"), { signal })).rejects.toBe(reason);
    await expect(at.datastore.list("IPAMHandle", { signal })).rejects.toBe(reason);
    await expect(at.datastore.get("IPAMHandle", "a", { signal })).rejects.toBe(reason);
    expect((await at.datastore.list("IPAMHandle")).items).toEqual([]);
  });
}
