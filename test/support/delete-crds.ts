import { setTimeout as sleep } from "node:timers/promises";
import type { Kubectl } from "../control-plane/kubectl.ts";

const TOUCH_AFTER = 2_000;

/**
 * Deletes all CRDs, or those named, and waits until they are gone. An API server that loses the race for a CRD's status while
 * it deletes takes the deletion up again at its next resync only, up to five minutes later, unless the CRD changes: so one
 * that is still there after a while is touched.
 */
export async function deleteCrds({ kubectlOk, kubectl }: Kubectl, names: readonly string[] = ["--all"]): Promise<void> {
  await kubectlOk(["delete", "crds", ...names, "--wait=false", "--ignore-not-found"]);
  const left = async () => {
    const all = (await kubectlOk(["get", "crds", "--output", "name"])).split("\n").filter(Boolean);
    return names.includes("--all") ? all : all.filter((crd) => names.includes(crd.slice(crd.indexOf("/") + 1)));
  };
  for (let round = 0; ; round++) {
    const waitUntil = Date.now() + TOUCH_AFTER;
    let there = await left();
    while (there.length > 0 && Date.now() < waitUntil) {
      await sleep(300);
      there = await left();
    }
    if (there.length === 0) return;
    await kubectl(["annotate", "--overwrite", ...there, `test/touched=${round}`]); // what is gone by now is no matter
  }
}
