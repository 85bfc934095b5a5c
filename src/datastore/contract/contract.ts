/** What every datastore promises, as one suite; a backend's test file runs it with a way to open an empty store. */
import { afterEach, beforeEach, describe } from "vitest";
import { describeData } from "./data.ts";
import { describeDeletion } from "./deletion.ts";
import { describeReading } from "./reading.ts";
import { describeRows } from "./rows.ts";
import type { OpenStore } from "./store.ts";

/** Runs the suite; each test gets a store that `open` makes. */
export function describeDatastoreContract(backend: string, open: () => Promise<OpenStore>): void {
  describe(`datastore contract: ${backend}`, () => {
    let store: OpenStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const current = {
      get datastore() {
        return store.datastore;
      },
      putMalformed: (name: string) => store.putMalformed(name),
    };
    describeRows(current);
    describeDeletion(current);
    describeData(current);
    describeReading(current);
  });
}
