/** Who wrote what was found changed. */
import { managersOf } from "../../src/api/configuration-owner.ts";
import type { IpamField } from "../../src/api/installation.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { manifestOf } from "../../src/operator/manifest-origin.ts";

/** Who last wrote `field`, other than this operator: a manager's name, or in words what is known without one. */
export function writerOf(object: IPAMConfiguration | undefined, field: IpamField): string {
  if (object === undefined) return "its deletion";
  const entries = managersOf(object, field).sort((a, b) => (b.time ?? "").localeCompare(a.time ?? ""));
  return entries[0]?.manager ?? withoutTrace(object);
}

/** The embedded store keeps no managers; there an object that comes from a manifest names it. */
function withoutTrace(object: IPAMConfiguration): string {
  const manifest = manifestOf(object);
  return manifest === undefined ? "an unknown writer" : `its manifest ${manifest} or another program`;
}
