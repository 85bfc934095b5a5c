/** Puts the generated CRDs on a server and waits until their kinds are served. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "./control-plane.ts";

/** Which CRDs a fresh server gets: the Installation and the IPAM kinds of one generation, of both, or nothing. */
export type CrdChoice = "v1" | "v3" | "both" | "none";

const crdFolder = join(import.meta.dirname, "../../crds");
const folders: Record<CrdChoice, readonly string[]> = {
  none: [],
  v1: [".", "v1"],
  v3: [".", "v3"],
  both: [".", "v1", "v3"],
};

/** Applies the CRDs of `choice` and waits until each is Established. */
export async function applyCrds(controlPlane: ControlPlane, choice: CrdChoice): Promise<void> {
  const files = folders[choice].flatMap(crdFiles).flatMap((file) => ["--filename", file]);
  if (files.length === 0) return;
  await controlPlane.kubectlOk(["apply", "--server-side", ...files]);
  await controlPlane.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", ...files]);
}

function crdFiles(folder: string): string[] {
  const path = join(crdFolder, folder);
  if (!existsSync(path)) return [];
  const names = readdirSync(path).filter((name) => name.endsWith(".yaml"));
  return names.sort().map((name) => join(path, name));
}
