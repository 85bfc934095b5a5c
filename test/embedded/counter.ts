/** A program of its own that adds to a handle's count in a store, over and over: `counter.ts PATH TIMES`. */
import { setImmediate } from "node:timers/promises";
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";

const [path, times] = process.argv.slice(2) as [string, string];
const datastore = openEmbedded(path);

async function addOne(): Promise<number> {
  for (;;) {
    const handle = await datastore.get("IPAMHandle", "counter");
    const count = handle.spec.block["10.0.0.0/30"]! + 1;
    try {
      await datastore.update({ ...handle, spec: { ...handle.spec, block: { "10.0.0.0/30": count } } });
      return count;
    } catch (error) {
      if (!isDatastoreError(error, "Conflict")) throw error;
    }
  }
}

for (let i = 0; i < Number(times); i++) {
  process.stdout.write(`${await addOne()}\n`);
  await setImmediate(); // no call of the store waits for anything, and a full pipe is emptied by the event loop
}
await datastore.close();
