/** Writes a snapshot's IPAM objects into an embedded store. */
import { openCopy } from "../../src/datastore/embedded.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";

export async function storeSnapshot(snapshot: Snapshot, path: string): Promise<void> {
  const store = openCopy(path);
  const { pools, reservations, configurations, blocks, affinities, handles } = snapshot;
  for (const object of [...pools, ...reservations, ...configurations, ...blocks, ...affinities, ...handles]) {
    await store.create(object as never);
  }
  await store.close();
}
