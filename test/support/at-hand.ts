/** What a store has at hand besides requests: wrappers of a store hand it on as it is. */
import type { Datastore } from "../../src/datastore/datastore.ts";

export function atHand(store: Datastore): Pick<Datastore, "blocksOf" | "blocksOverlapping"> {
  return {
    ...(store.blocksOf && { blocksOf: store.blocksOf.bind(store) }),
    ...(store.blocksOverlapping && { blocksOverlapping: store.blocksOverlapping.bind(store) }),
  };
}
