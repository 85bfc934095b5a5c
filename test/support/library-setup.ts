/** Vitest runs this before the library's projects on a real API server: one server is enough, with both generations on it. */
import type { TestProject } from "vitest/node";
import { startControlPlane } from "../control-plane/control-plane.ts";

/** Starts the server for the first project that asks; its teardown stops it. */
export default async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const root = vitest.getRootProject();
  const { libraryCluster } = root.getProvidedContext();
  if (libraryCluster) return undefined;
  const cluster = await startControlPlane({ crds: "both" });
  const { server, caData, kubeconfig, adminToken } = cluster;
  root.provide("libraryCluster", { server, caData, kubeconfig, adminToken });
  return cluster.stop;
}
