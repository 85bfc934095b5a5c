/** What a kind is called where the data is: v1 calls the configuration IPAMConfig. Every text that names a kind asks here. */
import { type Resource, resources } from "./resources.ts";
import { V1_API_VERSION } from "./v1.ts";
import type { IpamKind } from "./v3.ts";

/** @param datastore an API group with its version, or `embedded`, which has the kinds of v3 */
export function kindIn(datastore: string, kind: string): string {
  return resourceIn(datastore, kind)?.kind ?? kind;
}

/** As kubectl takes it: `ippools.projectcalico.org`; undefined for what is no IPAM kind. */
export function resourceNameIn(datastore: string, kind: string): string | undefined {
  const resource = resourceIn(datastore, kind);
  return resource && `${resource.plural}.${resource.group}`;
}

/** `IPAMConfig "default"`, as a sentence names an object. */
export function objectIn(datastore: string, kind: string, name: string): string {
  return `${kindIn(datastore, kind)} "${name}"`;
}

/** By the kind's name in either group. */
function resourceIn(datastore: string, kind: string): Resource | undefined {
  const generations = resources[kind as IpamKind] ?? Object.values(resources).find(({ v1 }) => v1.kind === kind);
  return generations?.[datastore === V1_API_VERSION ? "v1" : "v3"];
}

/** What to write for a kind where only v3 is served. */
export function v3Instead(kind: IpamKind): string {
  const { v1, v3 } = resources[kind];
  const renamed = v1.kind === v3.kind ? "" : ` and kind: ${v3.kind}`;
  return `write apiVersion: ${v3.group}/${v3.version}${renamed}`;
}
