/** A block write that the server carries out after its caller has left, or was told that the server is away. */
import { expect, test } from "vitest";
import { errorOf, storeError, world } from "../../test/support/ipam.ts";
import type { Datastore } from "../datastore/datastore.ts";

test.each(["the caller leaves", "the connection is lost"])(
  "%s, and the write arrives late: it conflicts",
  async (how) => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]] });
    await w.ipam.autoAssign({ num4: 1, handleID: "first", intendedUse: "Workload" });
    const leaving = new AbortController();
    let arrived: Promise<unknown> | undefined;
    const update: Datastore["update"] = async (object, options) => {
      if (object.kind !== "IPAMBlock" || arrived) return w.watched.update(object, options);
      arrived = new Promise((resolve) => setTimeout(resolve, 200)).then(() => w.store.update(object));
      arrived.catch(() => {});
      if (how === "the connection is lost") throw storeError("Unavailable", { kind: object.kind, name: "10-0-0-0-26" });
      leaving.abort(new Error("left"));
      throw leaving.signal.reason;
    };
    const ipam = w.openIpam({ datastore: { ...w.watched, update } });
    const call = ipam.autoAssign({ num4: 1, handleID: "h", intendedUse: "Workload" }, { signal: leaving.signal });
    expect(await errorOf(call)).toBeInstanceOf(Error);
    await expect(arrived).rejects.toMatchObject({ code: "Conflict" });
    const held = (await w.all("IPAMBlock")).flatMap(({ spec }) => spec.attributes.map(({ handle_id }) => handle_id));
    expect(held).toEqual(["first"]);
    expect((await w.all("IPAMHandle")).map(({ metadata }) => metadata.name)).toEqual(["first"]);
  },
);
