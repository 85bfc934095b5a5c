/** Writing verbs on a cluster whose addresses are not Calico's to give: refused unless they are forced. */
import { foreignIpamText } from "../../api/calico-installation.ts";
import type { WriteOptions } from "./carry-out.ts";

/** @throws Error that says whose IPAM it is. Something is only planned with `dryRun`. */
export function checkIpam(foreign: string | undefined, { dryRun, force }: WriteOptions): void {
  if (foreign === undefined || dryRun || force) return;
  throw new Error(`${foreignIpamText(foreign)}: nothing is written. --force writes all the same`);
}
