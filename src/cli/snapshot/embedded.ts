/** A snapshot of an embedded store: the IPAM data alone, since there is no cluster around it. */
import type { IpamKind, V3 } from "../../api/v3.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import type { Malformed, Snapshot } from "../../judgement/snapshot.ts";
import { lean } from "./lean.ts";
import type { TakeOptions } from "./take.ts";

/** @throws DatastoreError where the store cannot be read */
export async function takeFromStore(store: Datastore, { signal, now, progress }: TakeOptions): Promise<Snapshot> {
  const takenAt = now().toISOString();
  const malformed: Malformed[] = [];
  const all = async <K extends IpamKind>(kind: K): Promise<V3<K>[]> => {
    progress?.(kind);
    const listed = await store.list(kind, { signal });
    malformed.push(...listed.malformed.map((object) => ({ kind, ...object })));
    return listed.items.map((object) => lean<K>(object as V3<K>));
  };
  return {
    takenAt,
    datastore: store.description,
    blocks: await all("IPAMBlock"),
    affinities: await all("BlockAffinity"),
    handles: await all("IPAMHandle"),
    configurations: await all("IPAMConfiguration"),
    pools: await all("IPPool"),
    reservations: await all("IPReservation"),
    malformed,
    unread: [],
  };
}
