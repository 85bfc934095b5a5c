/** The store under the library's tests: embedded, or the real API server of the vitest project `library-v1` or `library-v3`. */
import { inject } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import type { Flavour } from "../../src/datastore/flavours.ts";
import type { Endpoint } from "../control-plane/api-request.ts";

/** How a test reaches the one API server of all library tests. */
export interface LibraryCluster extends Endpoint {
  readonly kubeconfig: string;
  readonly adminToken: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The generation that a project's tests are stored in; without one they are embedded. */
    libraryFlavour?: Flavour;
    libraryCluster?: LibraryCluster;
  }
}

/** An empty store. On the API server there is one at a time per generation: what an earlier test left is deleted. */
export async function openStore(): Promise<Datastore> {
  const flavour = inject("libraryFlavour");
  const cluster = inject("libraryCluster");
  if (!flavour || !cluster) return openCopy(":memory:");
  const { openEmptied } = await import("./cluster-store.ts"); // the unit tests do without the client's code
  return openEmptied(cluster, flavour);
}
