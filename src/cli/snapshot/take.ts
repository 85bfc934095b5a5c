/** Takes a snapshot of wherever the user points: a cluster, an embedded store, or a bundle taken earlier. */
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Place } from "../place.ts";

export interface TakeOptions {
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Where CALICO_API_GROUP is looked up. */
  readonly env: NodeJS.ProcessEnv;
  /** Told what is being read, before it is. */
  readonly progress?: ((what: string) => void) | undefined;
}

/** Each is loaded when it is needed: a bundle is read without the cluster's libraries. */
export async function takeSnapshot(place: Place, options: TakeOptions): Promise<Snapshot> {
  if (place.kind === "bundle") {
    const { readBundle } = await import("./bundle.ts");
    return readBundle(place.path, options);
  }
  if (place.kind === "embedded") {
    const [{ openEmbedded }, { takeFromStore }] = await Promise.all([
      import("../../datastore/embedded.ts"),
      import("./embedded.ts"),
    ]);
    const store = openEmbedded(place.path);
    return takeFromStore(store, options).finally(() => store.close());
  }
  const [{ openCluster }, { takeFromCluster }] = await Promise.all([import("../cluster.ts"), import("./cluster.ts")]);
  const source = await openCluster(place, options);
  return takeFromCluster(source, options).finally(() => source.client.close());
}
