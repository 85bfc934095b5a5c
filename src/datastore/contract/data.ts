/** The contract of what is stored: numbers, labels, statuses, what is refused, and what cannot be read. */
import { describe, expect, test } from "vitest";
import { affinityLabels } from "../../api/names.ts";
import { affinityOf, blockOf, handleOf, installationOf, poolOf, SEQUENCE } from "./objects.ts";
import { type Current, code, names, withSpec } from "./store.ts";

export function describeData(at: Current): void {
  describe("data", () => {
    test("64-bit numbers come back bit for bit, also one apart", async () => {
      const created = await at.datastore.create(blockOf("10.0.0.0/30"));
      const next = await at.datastore.update(withSpec(created, { sequenceNumber: SEQUENCE + 1n }));
      const read = await at.datastore.get("IPAMBlock", "10-0-0-0-30");
      expect(read.spec.sequenceNumber).toBe(SEQUENCE + 1n);
      expect(read.spec.sequenceNumberForAllocation).toEqual({ "0": SEQUENCE });
      expect(read).toEqual(next);
    });

    test("labels and annotations of others survive our writes", async () => {
      const pool = poolOf("pool-a", "10.0.0.0/16");
      const metadata = { ...pool.metadata, labels: { team: "a" }, annotations: { "x/y": "z" } };
      const created = await at.datastore.create({ ...pool, metadata } as typeof pool);
      const updated = await at.datastore.update(withSpec(created, { disabled: true }));
      expect(updated.metadata).toMatchObject({ labels: { team: "a" }, annotations: { "x/y": "z" } });
    });

    test("an affinity carries the labels of its spec", async () => {
      const created = await at.datastore.create(affinityOf("node-a", "fd00::/122"));
      expect(created.metadata.labels).toEqual(affinityLabels(created.spec));
    });

    test("what no schema allows is refused, naming object and field", async () => {
      const bad = poolOf("pool-a", "10.0.0.0/16", { disabled: "yes" });
      await expect(at.datastore.create(bad)).rejects.toMatchObject({
        code: "Invalid",
        message: expect.stringMatching(/IPPool.*pool-a.*spec\.disabled/s),
      });
    });

    test("a name that an API server refuses is refused", async () => {
      await expect(at.datastore.create(handleOf("under_score"))).rejects.toEqual(code("Invalid"));
      const other = installationOf();
      await expect(at.datastore.create({ ...other, metadata: { name: "other" } })).rejects.toEqual(code("Invalid"));
    });

    test("a malformed object is named, and hides no other", async () => {
      await at.datastore.create(handleOf("kept"));
      await at.putMalformed("broken");
      const { items, malformed } = await at.datastore.list("IPAMHandle");
      expect(names(items)).toEqual(["kept"]);
      const reason = expect.stringMatching(/broken.*spec\.block/s);
      expect(malformed).toEqual([{ name: "broken", reason, resourceVersion: expect.any(String) }]);
      await expect(at.datastore.get("IPAMHandle", "broken")).rejects.toEqual(code("Invalid"));
    });

    test("a malformed object is replaced by a good one at the revision that could not be read, and at no other", async () => {
      await at.putMalformed("broken");
      const { resourceVersion = "" } = (await at.datastore.list("IPAMHandle")).malformed[0]!;
      const good = handleOf("broken");
      const written = await at.datastore.update({ ...good, metadata: { ...good.metadata, resourceVersion } });
      expect(await at.datastore.get("IPAMHandle", "broken")).toEqual(written);
      expect(written.spec).toEqual(good.spec);
      const again = at.datastore.update({ ...good, metadata: { ...good.metadata, resourceVersion } });
      await expect(again).rejects.toEqual(code("Conflict"));
    });
  });

  describe("status", () => {
    const status = { observedGeneration: 1, lastDrift: "strictAffinity was changed" };

    test("is written apart: neither write touches the other's half", async () => {
      const created = await at.datastore.create(installationOf());
      const elsewhere = withSpec<"Installation">(created, { managementPolicy: "Paused" });
      const observed = await at.datastore.updateStatus({ ...elsewhere, status });
      expect(observed).toMatchObject({ spec: { managementPolicy: "Enforce" }, status, metadata: { generation: 1 } });
      const edited = withSpec<"Installation">(observed, { managementPolicy: "Observe" });
      expect(await at.datastore.update({ ...edited, status: {} })).toMatchObject({
        spec: { managementPolicy: "Observe" },
        status,
        metadata: { generation: 2 },
      });
    });

    test("is left out of a create", async () => {
      expect(await at.datastore.create({ ...installationOf(), status })).not.toHaveProperty("status");
    });

    test("over the status it was computed from: edits of metadata and spec are no conflict", async () => {
      const created = await at.datastore.create(installationOf());
      const { metadata } = created;
      const paused = withSpec<"Installation">(created, { managementPolicy: "Paused" });
      await at.datastore.update({ ...paused, metadata: { ...metadata, annotations: { "example.org/edit": "1" } } });
      const first = await at.datastore.updateStatus({ ...created, status }, { onto: { status: undefined } });
      expect(first).toMatchObject({ spec: { managementPolicy: "Paused" }, status, metadata: { generation: 2 } });
      const next = { observedGeneration: 2 };
      const second = await at.datastore.updateStatus({ ...created, status: next }, { onto: { status } });
      expect(second.status).toEqual(next);
    });

    test("over the status it was computed from: another status and another object are a conflict", async () => {
      const created = await at.datastore.create(installationOf());
      const observed = await at.datastore.updateStatus({ ...created, status });
      const late = () => at.datastore.updateStatus({ ...created, status: {} }, { onto: { status: undefined } });
      await expect(late()).rejects.toEqual(code("Conflict"));
      await at.datastore.delete(observed);
      await expect(late()).rejects.toEqual(code("NotFound"));
      await at.datastore.create(installationOf());
      await expect(late()).rejects.toMatchObject({ code: expect.stringMatching(/^(Conflict|NotFound)$/) });
    });

    test("is compare-and-swap too, and an equal one keeps the revision", async () => {
      const created = await at.datastore.create(installationOf());
      const observed = await at.datastore.updateStatus({ ...created, status });
      await expect(at.datastore.updateStatus({ ...created, status: {} })).rejects.toEqual(code("Conflict"));
      const again = await at.datastore.updateStatus(observed);
      expect(again.metadata.resourceVersion).toBe(observed.metadata.resourceVersion);
    });
  });
}
